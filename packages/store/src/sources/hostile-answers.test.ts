import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { OrangeboxError } from '@orangebox/schema';
import { type Answer, answerServer } from '../testing/answer-server.ts';
import { jaegerResourceSpans, jaegerTraces, SPANS, tempoResourceSpans, TRACE_ID } from '../testing/trace-answers.ts';
import { createJaegerSource } from './jaeger-source.ts';
import { createSourceStore } from './source-store.ts';
import { createTempoSource } from './tempo-source.ts';
import type { SourceOptions, SourceSpan, TraceSource } from './trace-source.ts';

const nested = (open: string, close: string): string => `${open.repeat(100_000)}1${close.repeat(100_000)}`;
const deepValue = `${'{"arrayValue":{"values":['.repeat(50_000)}{"stringValue":"x"}${']}}'.repeat(50_000)}`;
const deepSpan = `{"traceId":"${TRACE_ID}","spanId":"0011223344556677","attributes":[{"key":"orangebox.session.id","value":${deepValue}}]}`;
const resourceSpans = (spans: string): string => `[{"scopeSpans":[{"spans":${spans}}]}]`;
const everywhere = (spans: string): string =>
  `{"result":{"resourceSpans":${resourceSpans(spans)}},"trace":{"resourceSpans":${resourceSpans(spans)}},"data":[{"spans":${spans}}]}`;

/** Wrong types in every place where something is read. */
const WRONG: unknown[] = [
  null,
  0,
  -1,
  1e308,
  '',
  'x',
  true,
  [],
  [[]],
  {},
  { key: {} },
  [{ key: 'a', value: { intValue: {} } }],
];
const NAMES = [
  'traceId',
  'spanId',
  'parentSpanId',
  'name',
  'kind',
  'status',
  'attributes',
  'events',
  'startTimeUnixNano',
  'traceID',
  'spanID',
  'tags',
  'logs',
  'references',
  'processID',
  'startTime',
  'duration',
];

const hostile: [string, Answer][] = [
  ['arrays nested deep', { body: nested('[', ']') }],
  ['objects nested deep', { body: nested('{"a":', '}') }],
  ['an attribute nested deep', { body: everywhere(`[${deepSpan}]`) }],
  [
    'JSON that ends too soon',
    { body: JSON.stringify({ result: { resourceSpans: jaegerResourceSpans() } }).slice(0, -40) },
  ],
  ['half a line of several', { body: '{"result":{}}\n{"resu' }],
  ['a number', { body: '1' }],
  ['null', { body: 'null' }],
  ['a list', { body: '[1,null,{"result":1}]' }],
  ['nothing', { body: '' }],
  ['no content', { status: 204 }],
  ['bytes that are no text', (response): unknown => response.end(Buffer.from([0xff, 0xfe, 0, 0x7b]))],
  ['a connection that breaks', (response): unknown => response.write('{"result":', () => response.destroy())],
  ['a body without an end', endless],
  ['a server that says nothing', (): void => {}],
  ['gzip that is none', (response): unknown => response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"a":1}')],
  ['fields of wrong types', { body: everywhere(JSON.stringify(wrongSpans())) }],
  [
    'fields of wrong types above spans',
    {
      body: {
        result: { resourceSpans: WRONG },
        trace: { resourceSpans: WRONG },
        data: WRONG,
        services: WRONG,
        traces: WRONG,
      },
    },
  ],
];

describe.each<[string, (options: SourceOptions) => TraceSource]>([
  ['Jaeger', createJaegerSource],
  ['Tempo', createTempoSource],
])('%s that answers with', (_name, create) => {
  it.each(hostile)('%s gives spans of the right shape or a coded error', async (_what, answer) => {
    const server = await answerServer(() => answer);
    const source = create({ url: server.url, timeoutMs: 500, maxBytes: 32 * 1024 * 1024 });
    const store = createSourceStore(source);
    for (const work of [
      (): Promise<unknown> => source.trace(TRACE_ID).then(checkShape),
      (): Promise<unknown> =>
        source.search({ sinceUnixMs: Date.now() - 1000, traceLimit: 10 }).then(({ spans }) => checkShape(spans)),
      async (): Promise<void> => {
        for await (const entry of store.list({ traceId: TRACE_ID })) expect(entry.trace.traceId).toBe(TRACE_ID);
      },
    ]) {
      const error: unknown = await work().catch((caught: unknown) => caught);
      if (error === undefined) continue;
      expect(error).toBeInstanceOf(OrangeboxError);
      expect((error as OrangeboxError).code).toMatch(/^OBX_SOURCE_(ANSWER|UNREACHABLE)$/);
      expect((error as Error).message.length).toBeLessThan(500);
    }
  });

  it('more bytes than are read says so, without taking them', async () => {
    const server = await answerServer(() => endless);
    const before = process.memoryUsage().rss;
    await expect(create({ url: server.url, maxBytes: 4 * 1024 * 1024 }).trace(TRACE_ID)).rejects.toMatchObject({
      code: 'OBX_SOURCE_ANSWER',
      message: expect.stringContaining('4194304 bytes'),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  it('names of an object’s prototype gives attributes like any others', async () => {
    const [call] = SPANS;
    const attributes = JSON.parse(
      '{"__proto__":"polluted","constructor":"c","toString":"t"}',
    ) as SourceSpan['attributes'];
    const span = { ...(call as SourceSpan), attributes, resource: attributes };
    const server = await answerServer(() => ({
      body: {
        result: { resourceSpans: jaegerResourceSpans([span]) },
        trace: { resourceSpans: tempoResourceSpans([span]) },
      },
    }));
    const [found] = await create({ url: server.url }).trace(TRACE_ID);
    expect(Object.entries(found?.attributes ?? {})).toEqual(Object.entries(attributes));
    expect(Object.keys(found?.resource ?? {})).toContain('__proto__');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.getPrototypeOf({ ...found?.attributes })).toBe(Object.prototype);
  });
});

it('tags and processes named after an object’s prototype are harmless in Jaeger’s old form', async () => {
  const text = JSON.stringify(jaegerTraces())
    .replaceAll('"p1"', '"__proto__"')
    .replaceAll('"http.route"', '"__proto__"');
  const server = await answerServer(({ path }) => (path.startsWith('/api/v3') ? undefined : { body: text }));
  const spans = await createJaegerSource({ url: server.url }).trace(TRACE_ID);
  expect(spans).toHaveLength(4);
  expect(spans[0]?.resource['service.name']).toBe('agent service');
});

function endless(response: ServerResponse): void {
  const part = Buffer.alloc(256 * 1024, ' ');
  const write = (): void => {
    let more = !response.destroyed;
    while (more) more = response.write(part) && !response.destroyed;
    if (!response.destroyed) response.once('drain', write);
  };
  write();
}

function wrongSpans(): unknown[] {
  const good = { traceId: TRACE_ID, spanId: '0011223344556677', traceID: TRACE_ID, spanID: '0011223344556677' };
  return [...WRONG, ...NAMES.flatMap((name) => WRONG.map((value) => ({ ...good, [name]: value })))];
}

function checkShape(spans: readonly SourceSpan[]): void {
  for (const span of spans) {
    expect([span.traceId, span.spanId]).toEqual([
      expect.stringMatching(/^[0-9a-f]{32}$/),
      expect.stringMatching(/^[0-9a-f]{16}$/),
    ]);
    expect(BigInt(span.startUnixNano)).toBeGreaterThanOrEqual(0n);
    expect(BigInt(span.endUnixNano)).toBeGreaterThanOrEqual(0n);
    expect(typeof span.name).toBe('string');
  }
}
