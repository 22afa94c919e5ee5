import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { OtelContext } from '@orangebox/recorder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tool } from './api.ts';
import { parseTraceparent } from './inbound.ts';
import { installInstrumentation } from './install.ts';
import { createMemorySink, type MemorySink } from './memory-sink.ts';
import type { Runtime } from './runtime.ts';

const API = Symbol.for('opentelemetry.js.api.1');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');
const globals = globalThis as { [key: symbol]: unknown };
let sink: MemorySink;
let runtime: Runtime | undefined;
const servers: Server[] = [];

beforeEach(() => {
  sink = createMemorySink();
  runtime = installInstrumentation({ loadSink: () => sink, env: {} });
});
afterEach(async () => {
  runtime?.uninstall();
  delete globals[API];
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(handler: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(handler as never);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const call = async (base: string): Promise<string> =>
  (await fetch(`${base}/v1/chat/completions`, { method: 'POST', body: '{}' })).text();

describe('inbound requests', () => {
  it('give the calls made while serving one their trace, and parallel ones different traces', async () => {
    const provider = await serve((_request, response) => response.end('{}'));
    const service = await serve(async (_request, response) => {
      await call(provider);
      await call(provider);
      response.end('ok');
    });
    await Promise.all(Array.from({ length: 5 }, async () => (await fetch(service)).text()));
    const traces = sink.exchanges.map((e) => e.start.context.inbound?.traceId);
    expect(traces.length).toBe(10);
    expect(new Set(traces).size).toBe(5);
  });

  it('tell their method and path as they came, without the query', async () => {
    const provider = await serve((_request, response) => response.end('{}'));
    const service = await serve(async (request, response) => {
      request.url = '/rewritten';
      response.end(await call(provider));
    });
    await (await fetch(`${service}/chat/7?token=abc`, { method: 'PUT', body: 'x' })).text();
    expect(sink.exchanges.map((e) => e.start.context.inbound?.route)).toEqual(['PUT /chat/7']);
  });

  it('honour a valid traceparent, also on a reused connection', async () => {
    const provider = await serve((_request, response) => response.end('{}'));
    const service = await serve(async (_request, response) => {
      response.end(await call(provider));
    });
    const ids = ['1', '2'].map((digit) => digit.repeat(32));
    for (const id of ids) {
      const headers = { traceparent: `00-${id}-${'a'.repeat(16)}-01` };
      await (await fetch(service, { headers })).text();
    }
    await (await fetch(service)).text();
    const inbound = sink.exchanges.map((e) => e.start.context.inbound);
    expect(inbound.map((i) => i?.traceId).slice(0, 2)).toEqual(ids);
    expect(inbound[0]).toMatchObject({ spanId: 'a'.repeat(16), sampled: true });
    expect(ids).not.toContain(inbound[2]?.traceId);
  });

  it.each([
    ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', { sampled: false }],
    ['01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more', { sampled: true }],
    ['00-00000000000000000000000000000000-00f067aa0ba902b7-01', undefined],
    ['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', undefined],
    ['00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01', undefined],
    ['nonsense', undefined],
  ])('traceparent %s', (text, expected) => {
    const parsed = parseTraceparent(text);
    expect(parsed && { sampled: parsed.sampled }).toEqual(expected);
  });
});

describe('the active OpenTelemetry context', () => {
  /** As much of an API as is registered on the global. */
  function registerApi(): { run: <T>(span: unknown, fn: () => T) => T } {
    const storage = new AsyncLocalStorage<OtelContext>();
    const context = (values: Map<symbol, unknown>): OtelContext => ({
      getValue: (key) => values.get(key),
      setValue: (key, value) => context(new Map(values).set(key, value)),
      deleteValue: (key) => context(new Map([...values].filter(([k]) => k !== key))),
    });
    const root = context(new Map());
    globals[API] = { context: { active: () => storage.getStore() ?? root } };
    return { run: (span, fn) => storage.run(root.setValue(SPAN, span), fn) };
  }
  const span = (digit: string): unknown => ({
    spanContext: () => ({ traceId: digit.repeat(32), spanId: digit.repeat(16), traceFlags: 1 }),
  });
  const activeIds = (index: number): unknown =>
    (
      sink.exchanges[index]?.start.context.otelContext?.getValue(SPAN) as { spanContext: () => unknown } | undefined
    )?.spanContext();

  it('is taken where the request is made', async () => {
    const api = registerApi();
    const provider = await serve((_request, response) => response.end('{}'));
    await Promise.all(['1', '2'].map((digit) => api.run(span(digit), () => call(provider))));
    expect([activeIds(0), activeIds(1)]).toMatchObject([{ traceId: '1'.repeat(32) }, { traceId: '2'.repeat(32) }]);
  });

  it('has the tool span in it within a tool, unless the application opened a span inside', async () => {
    const api = registerApi();
    const provider = await serve((_request, response) => response.end('{}'));
    const work = tool('work', async () => {
      await call(provider);
      await api.run(span('3'), () => call(provider));
    });
    await api.run(span('1'), () => work());
    const [run] = sink.tools;
    expect(run?.trace).toMatchObject({ traceId: '1'.repeat(32), parentSpanId: '1'.repeat(16) });
    expect(activeIds(0)).toEqual({ traceId: '1'.repeat(32), spanId: run?.trace.spanId, traceFlags: 1 });
    expect(activeIds(1)).toMatchObject({ spanId: '3'.repeat(16) });
  });

  it('is that of the caller for http requests too', async () => {
    const api = registerApi();
    const provider = await serve((_request, response) => response.end('{}'));
    await api.run(
      span('4'),
      () =>
        new Promise((resolve) => {
          httpRequest(`${provider}/v1/chat/completions`, { method: 'POST' }, (response) =>
            response.resume().on('end', resolve),
          ).end('{}');
        }),
    );
    expect(activeIds(0)).toMatchObject({ traceId: '4'.repeat(32) });
  });
});
