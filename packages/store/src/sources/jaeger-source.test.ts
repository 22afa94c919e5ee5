import { describe, expect, it } from 'vitest';
import { ATTR } from '@orangebox/schema';
import { type Answer, type Asked, answerServer, UI_PAGE } from '../testing/answer-server.ts';
import {
  CALL_ID,
  jaegerResourceSpans,
  jaegerTraces,
  SESSION_ID,
  SPANS,
  START_MS,
  TRACE_ID,
} from '../testing/trace-answers.ts';
import { createJaegerSource } from './jaeger-source.ts';
import type { SourceSpan } from './trace-source.ts';

const V3: Answer = { body: { result: { resourceSpans: jaegerResourceSpans() } } };
const LEGACY: Answer = { body: jaegerTraces() };
const OURS = SPANS.slice(0, 3);
const WINDOW = { sinceUnixMs: START_MS - 60_000, untilUnixMs: START_MS + 60_000 };
const NO_SUCH: Answer = { status: 404, body: { error: { httpCode: 404, message: 'No traces found' } } };

describe('a trace of Jaeger', () => {
  it('is the same by both of its APIs', async () => {
    const v3 = await answerServer({ [`/api/v3/traces/${TRACE_ID}`]: V3 });
    const legacy = await answerServer((asked) => (asked.path === `/api/traces/${TRACE_ID}` ? LEGACY : UI_PAGE));
    expect(await createJaegerSource({ url: v3.url }).trace(TRACE_ID)).toEqual(SPANS);
    expect(await createJaegerSource({ url: legacy.url }).trace(TRACE_ID)).toEqual(SPANS);
    expect(v3.asked).toHaveLength(1);
  });

  it('is asked for below a base path, whatever case and leading zeros its id has', async () => {
    const server = await answerServer({ [`/jaeger/api/v3/traces/${TRACE_ID}`]: V3 });
    const source = createJaegerSource({ url: `${server.url}/jaeger//` });
    expect(source.location).toBe(`${server.url}/jaeger`);
    expect(await source.trace('A1B2C3D4E5F6071')).toHaveLength(4);
  });

  it('that it does not know is empty, by either API', async () => {
    const both = await answerServer((asked) =>
      asked.path.startsWith('/api/v3/')
        ? NO_SUCH
        : { status: 404, body: { data: null, errors: [{ code: 404, msg: 'trace not found' }] } },
    );
    expect(await createJaegerSource({ url: both.url }).trace(TRACE_ID)).toEqual([]);
    const legacyOnly = await answerServer((asked) =>
      asked.path.startsWith('/api/v3/') ? UI_PAGE : { body: { data: null } },
    );
    expect(await createJaegerSource({ url: legacyOnly.url }).trace(TRACE_ID)).toEqual([]);
    const v3Only = await answerServer((asked) => (asked.path.startsWith('/api/v3/') ? NO_SUCH : undefined));
    expect(await createJaegerSource({ url: v3Only.url }).trace(TRACE_ID)).toEqual([]);
    expect(await createJaegerSource({ url: v3Only.url }).trace('../../etc')).toEqual([]);
    expect(v3Only.asked).toHaveLength(2);
  });

  it('may come in several documents, one per line, and only its own spans count', async () => {
    const lines = jaegerResourceSpans().map((item) => JSON.stringify({ result: { resourceSpans: [item] } }));
    const foreign = JSON.stringify({
      result: { resourceSpans: jaegerResourceSpans([{ ...first, traceId: 'f'.repeat(32) }]) },
    });
    const server = await answerServer(() => ({ body: [...lines, foreign].join('\n') }));
    expect(await createJaegerSource({ url: server.url }).trace(TRACE_ID)).toEqual(SPANS);
  });

  it('of a server that is no Jaeger is an error, not an empty trace', async () => {
    const server = await answerServer(() => UI_PAGE);
    await expect(createJaegerSource({ url: server.url }).trace(TRACE_ID)).rejects.toMatchObject({
      code: 'OBX_SOURCE_ANSWER',
      message: expect.stringContaining('a page'),
    });
  });
});

describe('a search in Jaeger', () => {
  const services: Answer = { body: { services: ['agent service', 'other'] } };
  const parametersOf = (asked: Asked[], path: string): Asked['parameters'][] =>
    asked.filter((question) => question.path === path).map(({ parameters }) => parameters);

  it('asks each service for the attribute by tags, and gives the spans of Orangebox in the traces that have it', async () => {
    const server = await answerServer((asked) =>
      asked.path === '/api/v3/services'
        ? services
        : asked.path === '/api/traces'
          ? asked.parameters['service'] === 'other'
            ? { body: { data: null } }
            : LEGACY
          : UI_PAGE,
    );
    const source = createJaegerSource({ url: server.url });
    const query = { ...WINDOW, attributes: { [ATTR.sessionId]: SESSION_ID } };
    expect(await source.search(query)).toEqual({ spans: OURS, truncated: false });
    const asked = parametersOf(server.asked, '/api/traces');
    expect(asked.map(({ service }) => service).sort()).toEqual(['agent service', 'other']);
    expect(asked[0]).toMatchObject({
      start: `${WINDOW.sinceUnixMs}000`,
      end: `${WINDOW.untilUnixMs}000`,
      limit: '1000',
    });
    expect(JSON.parse(asked[0]?.['tags'] ?? '')).toEqual({ [ATTR.sessionId]: SESSION_ID });
    expect(await source.search({ ...query, attributes: { [ATTR.sessionId]: 'another' } })).toMatchObject({ spans: [] });
    expect(await source.search({ ...query, serviceName: 'other' })).toMatchObject({ spans: [] });
  });

  it('without a condition asks for what every call has, not for all that a service does', async () => {
    const server = await answerServer((asked) => (asked.path === '/api/v3/services' ? services : LEGACY));
    expect((await createJaegerSource({ url: server.url }).search(WINDOW)).spans).toEqual(OURS);
    const tags = parametersOf(server.asked, '/api/traces').map((parameters) => JSON.parse(parameters['tags'] ?? ''));
    expect(tags).toHaveLength(4);
    expect(tags).toContainEqual({ [ATTR.snapshotFidelity]: 'exact' });
    expect(tags).toContainEqual({ [ATTR.snapshotFidelity]: 'partial' });
  });

  it('says of more services than it asks that a shorter time does not help', async () => {
    const many = { body: { services: Array.from({ length: 201 }, (_, n) => `service ${n}`) } };
    const server = await answerServer((asked) => (asked.path === '/api/v3/services' ? many : { body: { data: [] } }));
    const query = { ...WINDOW, attributes: { [ATTR.sessionId]: SESSION_ID } };
    const found = await createJaegerSource({ url: server.url }).search(query);
    expect(found).toEqual({ spans: [], truncated: true, isFinal: true });
    expect(parametersOf(server.asked, '/api/traces')).toHaveLength(200);
  });

  it.each([
    ['camel', 'query.serviceName', 'query.searchDepth'],
    ['snake', 'query.service_name', 'query.num_traces'],
  ])(
    'of a Jaeger without its old API uses the names of v3 in %s case and filters itself',
    async (_form, name, limit) => {
      const server = await answerServer((asked) => {
        if (asked.path === '/api/v3/services') return services;
        if (asked.path !== '/api/v3/traces') return UI_PAGE;
        if (asked.parameters[name] !== undefined) return V3;
        return { status: 500, body: { error: { httpCode: 500, message: 'unknown parameters' } } };
      });
      const source = createJaegerSource({ url: server.url });
      const query = { ...WINDOW, serviceName: 'agent service', attributes: { [ATTR.sessionId]: SESSION_ID } };
      expect(await source.search(query)).toEqual({ spans: OURS, truncated: false });
      expect(server.asked.at(-1)?.parameters[limit]).toBe('1000');
      // What worked is asked the next time.
      const before = server.asked.length;
      expect(await source.search({ ...query, attributes: { [ATTR.sessionId]: 'x' } })).toMatchObject({ spans: [] });
      expect(server.asked).toHaveLength(before + 1);
    },
  );

  it('asks for a time that holds more than one answer in parts', async () => {
    const calls = Array.from({ length: 2500 }, (_, i) => call(i));
    const server = await answerServer(busyJaeger(calls));
    const query = { ...WINDOW, serviceName: 'agent service', attributes: { 'http.request.method': 'POST' } };
    const { spans, truncated } = await createJaegerSource({ url: server.url }).search(query);
    expect(truncated).toBe(false);
    expect(new Set(spans.map((span) => span.traceId)).size).toBe(2500);
    expect(server.asked.length).toBeLessThan(20);
  });

  it('says that it was cut where the caller wants no more, and where a moment holds too many', async () => {
    const calls = Array.from({ length: 1500 }, () => call(0));
    const traces = calls.map((span, i) => ({ ...span, traceId: `e${i.toString(16).padStart(31, '0')}` }));
    const server = await answerServer(busyJaeger(traces));
    const query = { ...WINDOW, serviceName: 'agent service', attributes: { 'http.request.method': 'POST' } };
    const source = createJaegerSource({ url: server.url });
    const few = await source.search({ ...query, traceLimit: 10 });
    expect([few.spans.length, few.truncated, server.asked.length]).toEqual([10, true, 1]);
    const many = await source.search(query);
    expect([many.spans.length, many.truncated]).toEqual([1000, true]);
  });

  it('asks for a time whose answer is too large in parts', async () => {
    const calls = Array.from({ length: 200 }, (_, i) => call(i * 12));
    const server = await answerServer(busyJaeger(calls));
    const source = createJaegerSource({ url: server.url, maxBytes: 60_000 });
    const found = await source.search({
      ...WINDOW,
      serviceName: 'agent service',
      attributes: { 'http.request.method': 'POST' },
    });
    expect([found.spans.length, found.truncated]).toEqual([200, false]);
  });

  it('says what a Jaeger means that refuses it', async () => {
    const refusal = { data: null, errors: [{ code: 400, msg: 'limit too high\u001b[31m' }] };
    const server = await answerServer(() => ({ status: 400, body: refusal }));
    await expect(createJaegerSource({ url: server.url }).search({ ...WINDOW, serviceName: 's' })).rejects.toMatchObject(
      {
        code: 'OBX_SOURCE_ANSWER',
        message: expect.stringMatching(/^[^\u001b]*limit too high[^\u001b]*$/),
      },
    );
  });
});

const first = SPANS[0] as SourceSpan;

/** A call of its own trace, `offsetMs` after the window begins. */
function call(offsetMs: number): SourceSpan {
  const start = WINDOW.sinceUnixMs + offsetMs * 40;
  return {
    ...first,
    traceId: `c${offsetMs.toString(16).padStart(31, '0')}`,
    spanId: CALL_ID,
    startUnixNano: `${start}000000`,
    endUnixNano: `${start + 1}000000`,
  };
}

/** Jaeger's own API over many traces: newest first, no more than it was asked for. */
function busyJaeger(calls: readonly SourceSpan[]): (asked: Asked) => Answer {
  return ({ parameters }) => {
    const [start, end] = [BigInt(`${parameters['start']}000`), BigInt(`${parameters['end']}000`)];
    const within = calls.filter((span) => BigInt(span.startUnixNano) >= start && BigInt(span.startUnixNano) <= end);
    return { body: jaegerTraces(within.toReversed().slice(0, Number(parameters['limit']))) };
  };
}
