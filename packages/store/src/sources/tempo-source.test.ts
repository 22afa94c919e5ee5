// Tempo is not run anywhere here: its answers are fixtures made by hand from what it documents and was seen to say (3.1).
import { describe, expect, it } from 'vitest';
import { ATTR } from '@orangebox/schema';
import { type Answer, answerServer } from '../testing/answer-server.ts';
import { SESSION_ID, SPANS, START_MS, tempoResourceSpans, TRACE_ID } from '../testing/trace-answers.ts';
import { createTempoSource } from './tempo-source.ts';
import { traceQlOf, traceQlString } from './trace-ql.ts';

const V2: Answer = { body: { trace: { resourceSpans: tempoResourceSpans() }, metrics: { inspectedBytes: '4000' } } };
const V1: Answer = { body: { batches: tempoResourceSpans() } };
const OURS = SPANS.slice(0, 3);
const DAY_MS = 24 * 3600_000;

describe('a trace of Tempo', () => {
  it('is the same by v2 and by v1, its ids in hex', async () => {
    const v2 = await answerServer({ [`/api/v2/traces/${TRACE_ID}`]: V2 });
    const v1 = await answerServer({ [`/api/traces/${TRACE_ID}`]: V1 });
    expect(await createTempoSource({ url: v2.url }).trace(TRACE_ID)).toEqual(SPANS);
    expect(await createTempoSource({ url: v1.url }).trace('a1b2c3d4e5f6071')).toEqual(SPANS);
    expect(v2.asked).toHaveLength(1);
  });

  it('that it does not know is an empty one (v2) or a 404 without text (v1)', async () => {
    const v2 = await answerServer(() => ({ body: { trace: {}, metrics: {} } }));
    const bare = await answerServer(() => ({ body: { metrics: {} } }));
    const v1 = await answerServer(() => ({ status: 404 }));
    for (const { url } of [v2, bare, v1]) expect(await createTempoSource({ url }).trace(TRACE_ID)).toEqual([]);
    expect(v1.asked.map(({ path }) => path)).toEqual([`/api/v2/traces/${TRACE_ID}`, `/api/traces/${TRACE_ID}`]);
  });

  it('is had through the proxy of a data source of Grafana', async () => {
    const path = '/grafana/api/datasources/proxy/uid/tempo_1';
    const server = await answerServer({ [`${path}/api/v2/traces/${TRACE_ID}`]: V2 });
    const source = createTempoSource({ url: `${server.url}${path}/`, headers: { Authorization: 'Bearer t' } });
    expect(await source.trace(TRACE_ID)).toHaveLength(4);
    expect(server.asked[0]?.headers.authorization).toBe('Bearer t');
  });
});

describe('a search in Tempo', () => {
  const hits = (...traceIDs: string[]): Answer => ({
    body: { traces: traceIDs.map((traceID) => ({ traceID, spanSet: { spans: [], matched: 1 } })), metrics: {} },
  });

  it('asks by TraceQL in whole seconds, and fetches the traces by their ids with the zeros that it stripped', async () => {
    const server = await answerServer({
      '/api/search': hits('a1b2c3d4e5f6071'),
      [`/api/v2/traces/${TRACE_ID}`]: V2,
    });
    const source = createTempoSource({ url: server.url });
    const query = {
      sinceUnixMs: START_MS - 1500,
      untilUnixMs: START_MS + 2500,
      attributes: { [ATTR.sessionId]: SESSION_ID },
    };
    expect(await source.search(query)).toEqual({ spans: OURS, truncated: false });
    expect(server.asked[0]?.parameters).toEqual({
      q: '{ span.orangebox.session.id = "chat \\"7\\"\\\\" }',
      start: String(START_MS / 1000 - 2),
      end: String(START_MS / 1000 + 3),
      limit: '1000',
    });
    expect((await source.search({ ...query, attributes: { [ATTR.sessionId]: 'x' } })).spans).toEqual([]);
  });

  it('finds nothing where it says so in any of its ways', async () => {
    for (const body of [{ traces: [], metrics: {} }, { metrics: { completedJobs: 1 } }]) {
      const server = await answerServer(() => ({ body }));
      const source = createTempoSource({ url: server.url });
      expect(await source.search({ sinceUnixMs: Date.now() - 1000 })).toEqual({ spans: [], truncated: false });
    }
  });

  it('never asks for more than a week at once, newest first', async () => {
    const server = await answerServer(() => hits());
    const until = START_MS;
    await createTempoSource({ url: server.url }).search({ sinceUnixMs: until - 20 * DAY_MS, untilUnixMs: until });
    const asked = server.asked.map(
      ({ parameters }) => [Number(parameters['start']), Number(parameters['end'])] as const,
    );
    expect(asked).toHaveLength(4);
    for (const [start, end] of asked) expect(end - start).toBeLessThan((7 * DAY_MS) / 1000);
    expect(asked[0]?.[1]).toBe(until / 1000);
    expect(asked.at(-1)?.[0]).toBe((until - 20 * DAY_MS) / 1000);
  });

  it('asks in parts where the answer is full, and fetches no trace twice', async () => {
    const ids = Array.from({ length: 1200 }, (_, i) => (i + 1).toString(16));
    const server = await answerServer(({ path, parameters }) => {
      if (path !== '/api/search') return { body: { trace: {} } };
      const half = Number(parameters['start']) >= START_MS / 1000 - 30;
      return Number(parameters['end']) - Number(parameters['start']) > 59
        ? hits(...ids.slice(0, 1000))
        : hits(...(half ? ids.slice(600) : ids.slice(0, 650)));
    });
    const found = await createTempoSource({ url: server.url }).search({
      sinceUnixMs: START_MS - 60_000,
      untilUnixMs: START_MS,
    });
    expect(found.truncated).toBe(false);
    const paths = server.asked.map(({ path }) => path).filter((path) => path !== '/api/search');
    expect([paths.length, new Set(paths).size]).toEqual([1200, 1200]);
  });

  it('says what Tempo means that refuses a question, short and without control characters', async () => {
    const text = `invalid TraceQL query: parse error at line 1\u001b[2J ${'x'.repeat(5000)}`;
    const server = await answerServer(() => ({ status: 400, body: text }));
    const error: unknown = await createTempoSource({ url: server.url })
      .search({ sinceUnixMs: START_MS })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'OBX_SOURCE_ANSWER',
      message: expect.stringContaining('parse error at line 1'),
    });
    expect((error as Error).message.length).toBeLessThan(400);
    expect((error as Error).message).not.toContain('\u001b');
  });
});

it('writes TraceQL that a value cannot leave', () => {
  expect(traceQlOf({ sinceUnixMs: 0, attributes: { 'a.b_c': '" } || { true } //', 'x y"': '\n\\\u0001' } })).toBe(
    String.raw`{ span.a.b_c = "\" } || { true } //" && span."x y\"" = "\n\\\x01" }`,
  );
  expect(traceQlOf({ sinceUnixMs: 0, serviceName: 'a"b' })).toBe(
    '{ (span.orangebox.snapshot.fidelity = "exact" || span.orangebox.snapshot.fidelity = "partial") && resource.service.name = "a\\"b" }',
  );
  expect(traceQlString('Zürich\u007f')).toBe('"Zürich\\x7f"');
});
