import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { ATTR, SEMCONV_SCHEMA_URL, type TraceRef } from '@orangebox/schema';
import { afterEach, describe, expect, it } from 'vitest';
import { type OtlpReceiver, startOtlpReceiver } from '../../../../test/helpers/otlp-receiver.mjs';
import { readConfig, type RecorderConfig } from '../config.ts';
import { payloadEvent } from '../payload-on-span.ts';
import type { Reporter } from '../report.ts';
import { type CallSpanFacts, provisionalTrace } from '../spans.ts';
import type { CallContext } from '../wire-events.ts';
import { createCallSpans } from './call-spans.ts';
import { callStartAttributes } from './span-content.ts';

const API_GLOBAL = Symbol.for('opentelemetry.js.api.1');
const url = 'https://api.openai.com/v1/chat/completions';
const startUnixNano = 1_767_312_000_123_456_789n;
const endUnixNano = startUnixNano + 1_000_000_001n;
const key = `v1/20260102/${'a'.repeat(32)}/${'b'.repeat(16)}/${'d'.repeat(16)}`;

let receiver: OtlpReceiver | undefined;

afterEach(async () => {
  trace.disable();
  context.disable();
  delete (globalThis as Record<symbol, unknown>)[Symbol.for('orangebox.runtime.1')];
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  await receiver?.close();
  receiver = undefined;
});

function setUp(env: Record<string, string> = {}) {
  Object.assign(process.env, env);
  const told: string[] = [];
  const reporter: Reporter = {
    warn: (code) => void told.push(code),
    count: (code) => void told.push(code),
    fault: (code, error) => void told.push(`${code}: ${String(error)}`),
    counts: () => ({}),
  };
  const config: RecorderConfig = readConfig({ ORANGEBOX_DIR: '/nowhere', ...env }, () => {});
  return { spans: createCallSpans(config, reporter), told };
}

function registerProvider(options: { sampler?: AlwaysOffSampler } = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ ...options, spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  return { exporter, provider, tracer: provider.getTracer('app') };
}

const callContext = (part: Partial<CallContext> = {}): CallContext => ({ scope: [], place: undefined, ...part });
const under = (span: Span): Partial<CallContext> => ({ otelContext: trace.setSpan(ROOT_CONTEXT, span) });

function startOf(part: Partial<CallContext> = {}) {
  const own = callContext(part);
  return {
    kind: 'llm' as const,
    context: own,
    provisional: provisionalTrace(own),
    startUnixNano,
    name: 'POST',
    attributes: callStartAttributes('POST', url),
  };
}

function factsOf(part: Partial<CallSpanFacts> = {}): CallSpanFacts {
  return {
    name: 'chat gpt-4o',
    startUnixNano,
    endUnixNano,
    attributes: { [ATTR.snapshotKey]: key, 'gen_ai.usage.input_tokens': 5 },
    status: { code: 'unset' },
    attempts: [],
    ...part,
  };
}

/** A whole call with one attempt. */
function record(
  spans: ReturnType<typeof createCallSpans>,
  part: Partial<CallContext> = {},
  parent?: TraceRef,
): TraceRef {
  const handle = spans.start(startOf(part));
  const { trace: ids } = spans.settle(handle, { ...(parent ? { parent } : {}), attempts: [] });
  spans.end(handle, factsOf());
  return ids;
}

describe('with a provider of the application', () => {
  it('makes a client span under the active span, with the times of the wire', () => {
    const { exporter, tracer } = registerProvider();
    const { spans } = setUp();
    const parent = tracer.startSpan('work');
    const handle = spans.start(startOf(under(parent)));
    expect(handle).toMatchObject({ settled: true, nested: false });
    const { trace: ids } = spans.settle(handle, { attempts: [] });
    spans.end(handle, factsOf({ status: { code: 'error', message: 'boom' } }));
    const [span] = exporter.getFinishedSpans();
    expect(span).toMatchObject({
      name: 'chat gpt-4o',
      kind: 2,
      startTime: [1_767_312_000, 123_456_789],
      endTime: [1_767_312_001, 123_456_790],
      status: { code: 2, message: 'boom' },
      parentSpanContext: { spanId: parent.spanContext().spanId },
      instrumentationScope: { name: 'orangebox', schemaUrl: SEMCONV_SCHEMA_URL },
    });
    expect(span?.spanContext()).toMatchObject({ traceId: ids.traceId, spanId: ids.spanId });
    expect(ids).toMatchObject({
      traceId: parent.spanContext().traceId,
      parentSpanId: parent.spanContext().spanId,
      sampled: true,
    });
  });

  it('uses one that is registered after the recorder was made', () => {
    const { spans } = setUp();
    record(spans);
    const { exporter } = registerProvider();
    record(spans);
    expect(exporter.getFinishedSpans()).toHaveLength(1);
  });

  it('waits with a call that has no parent until the session says which trace it belongs to', () => {
    const { exporter } = registerProvider();
    const { spans } = setUp();
    const handle = spans.start(startOf());
    expect(handle.settled).toBe(false);
    const { trace: first } = spans.settle(handle, { attempts: [] });
    expect(first.parentSpanId).toBeUndefined();
    spans.end(handle, factsOf());
    const second = record(spans, {}, first);
    expect(second).toMatchObject({ traceId: first.traceId, parentSpanId: first.spanId });
    expect(exporter.getFinishedSpans().map((s) => s.startTime)).toEqual([
      [1_767_312_000, 123_456_789],
      [1_767_312_000, 123_456_789],
    ]);
    expect(exporter.getFinishedSpans()[1]?.parentSpanContext?.spanId).toBe(first.spanId);
  });

  it('takes an Orangebox scope, and then an inbound request, as parent where no span is active', () => {
    const { exporter } = registerProvider();
    const { spans } = setUp();
    const inbound = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), sampled: true };
    const scope = { traceId: '3'.repeat(32), spanId: '4'.repeat(16) };
    record(spans, { inbound });
    record(spans, { inbound, parent: scope });
    const [ofInbound, ofScope] = exporter.getFinishedSpans();
    expect(ofInbound?.parentSpanContext).toMatchObject({ spanId: inbound.spanId, isRemote: true });
    expect(ofScope?.parentSpanContext).toMatchObject({ spanId: scope.spanId });
  });

  it('reports the ids of a span that a sampler dropped', () => {
    registerProvider({ sampler: new AlwaysOffSampler() });
    const { spans } = setUp();
    const ids = record(spans);
    expect(ids.sampled).toBe(false);
    expect(ids.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(ids.traceId).not.toMatch(/^0+$/);
  });

  it('makes a child span per attempt', () => {
    const { exporter } = registerProvider();
    const { spans } = setUp();
    const handle = spans.start(startOf());
    const attempts = [0n, 1n].map((n) => ({ name: 'POST', startUnixNano: startUnixNano + n }));
    const settled = spans.settle(handle, { attempts });
    spans.end(
      handle,
      factsOf({
        attempts: attempts.map((attempt, i) => ({
          ...attempt,
          spanId: settled.attemptSpanIds[i] ?? '',
          endUnixNano,
          attributes: { 'http.request.resend_count': i },
          status: { code: 'unset' },
        })),
      }),
    );
    const finished = exporter.getFinishedSpans();
    expect(finished.map((s) => [s.name, s.kind])).toEqual([
      ['POST', 2],
      ['POST', 2],
      ['chat gpt-4o', 2],
    ]);
    expect(finished.slice(0, 2).map((s) => s.spanContext().spanId)).toEqual(settled.attemptSpanIds);
    for (const attempt of finished.slice(0, 2)) {
      expect(attempt.parentSpanContext?.spanId).toBe(settled.trace.spanId);
    }
  });

  it("becomes an internal child of another instrumentation's span of the same call", () => {
    const { exporter, tracer } = registerProvider();
    const { spans } = setUp();
    const theirs = tracer.startSpan('chat gpt-4o', {
      attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' },
    });
    const handle = spans.start(startOf(under(theirs)));
    expect(handle.nested).toBe(true);
    spans.settle(handle, { attempts: [] });
    spans.end(handle, factsOf());
    expect(exporter.getFinishedSpans()[0]).toMatchObject({ kind: 0 });
  });

  it.each([
    ['an agent span', { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'gpt-4o' }],
    ['a plain span', { 'http.route': '/' }],
  ])('is a client span of its own under %s', (_what, attributes) => {
    const { tracer } = registerProvider();
    const { spans } = setUp();
    expect(spans.start(startOf(under(tracer.startSpan('x', { attributes })))).nested).toBe(false);
  });

  it("recognises the AI SDK's span, which names no operation", () => {
    const { tracer } = registerProvider();
    const { spans } = setUp();
    const attributes = { 'gen_ai.system': 'openai.chat', 'gen_ai.request.model': 'gpt-4o' };
    const theirs = tracer.startSpan('ai.generateText.doGenerate', { attributes });
    expect(spans.start(startOf(under(theirs))).nested).toBe(true);
    theirs.end();
    expect(spans.start(startOf(under(theirs))).nested).toBe(false);
  });

  it('keeps its own attributes although 128 others are set meanwhile', () => {
    const exporter = new InMemorySpanExporter();
    const crowd = {
      onStart(span: Span) {
        for (let i = 0; i < 128; i++) span.setAttribute(`user.${i}`, i);
      },
      onEnd: () => {},
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    };
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [crowd, new SimpleSpanProcessor(exporter)] }),
    );
    const { spans } = setUp();
    record(spans);
    expect(exporter.getFinishedSpans()[0]?.attributes[ATTR.snapshotKey]).toBe(key);
  });

  it('warns once when the key is cut by a limit on values', () => {
    const provider = new BasicTracerProvider({ spanLimits: { attributeValueLengthLimit: 40 } });
    trace.setGlobalTracerProvider(provider);
    const { spans, told } = setUp();
    record(spans);
    expect(told).toContain('attribute_value_limit');
  });

  it('makes no span where the application suppressed tracing', () => {
    const { exporter, tracer } = registerProvider();
    const { spans } = setUp();
    const otelContext = suppressTracing(trace.setSpan(ROOT_CONTEXT, tracer.startSpan('work')));
    const ids = record(spans, { otelContext });
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(ids.sampled).toBe(false);
  });

  it('gives a wrapped tool the ids that its calls already name', () => {
    const { exporter } = registerProvider();
    const { spans } = setUp();
    const ids = { traceId: '5'.repeat(32), spanId: '6'.repeat(16) };
    const tool = { name: 'execute_tool x', startUnixNano, endUnixNano };
    const handle = spans.startTool({ ...tool, basis: 'wrapped', ids });
    spans.endTool(handle, { ...tool, attributes: { 'gen_ai.tool.name': 'x' }, status: { code: 'unset' } });
    expect(handle.trace).toMatchObject(ids);
    expect(exporter.getFinishedSpans()[0]?.spanContext()).toMatchObject(ids);
  });

  it('puts an inferred tool under the call that asked for it', () => {
    const { exporter } = registerProvider();
    const { spans } = setUp();
    const call = record(spans);
    const tool = { name: 'execute_tool x', startUnixNano, endUnixNano };
    const handle = spans.startTool({ ...tool, basis: 'inferred', parent: call });
    spans.endTool(handle, { ...tool, attributes: {}, status: { code: 'unset' } });
    expect(handle.trace).toMatchObject({ traceId: call.traceId, parentSpanId: call.spanId });
    expect(exporter.getFinishedSpans()[1]).toMatchObject({ kind: 0, parentSpanContext: { spanId: call.spanId } });
  });

  it('survives a provider that throws', () => {
    const broken = {
      getTracer: () => ({
        startSpan: () => {
          throw new Error('broken');
        },
      }),
    };
    (globalThis as Record<symbol, unknown>)[API_GLOBAL] = { version: '1.9.0', trace: broken };
    const { spans, told } = setUp();
    const ids = record(spans);
    delete (globalThis as Record<symbol, unknown>)[API_GLOBAL];
    expect(ids.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(told).toContain('span_provider');
  });

  it('drains what is ready before the application shuts its provider down', async () => {
    const { spans } = setUp();
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
    trace.setGlobalTracerProvider(provider);
    let handle: ReturnType<typeof spans.start> | undefined;
    const order: string[] = [];
    exporter.shutdown = () => Promise.resolve();
    spans.onBeforeShutdown?.(() => {
      order.push('drain');
      if (!handle) return;
      spans.settle(handle, { attempts: [] });
      spans.end(handle, factsOf());
      handle = undefined;
    });
    handle = spans.start(startOf());
    await provider.shutdown();
    expect(order).toEqual(['drain']);
    expect(exporter.getFinishedSpans()).toHaveLength(1);
  });
});

describe('without a provider of the application', () => {
  it('keeps the provisional ids and loads nothing when spans have nowhere to go', async () => {
    const { spans } = setUp();
    const start = startOf();
    const handle = spans.start(start);
    expect(spans.settle(handle, { attempts: [] }).trace).toEqual(start.provisional);
    spans.end(handle, factsOf());
    await spans.flush(100);
    expect((globalThis as Record<symbol, unknown>)[API_GLOBAL]).not.toHaveProperty('trace');
  });

  it.each(['http/protobuf', 'http/json'])(
    'exports by %s under the ids of the segment, and registers nothing',
    async (protocol) => {
      receiver = await startOtlpReceiver();
      const { spans, told } = setUp({
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=blue%20one',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
        OTEL_SERVICE_NAME: 'shop',
      });
      const before = Object.keys((globalThis as Record<symbol, object>)[API_GLOBAL] ?? {});
      const first = record(spans);
      const second = record(spans, {}, first);
      await spans.flush(10_000);
      expect(told).toEqual([]);
      const [a, b] = receiver.metadataSpans();
      expect(a).toMatchObject({
        ...{ traceId: first.traceId, spanId: first.spanId, parentSpanId: undefined },
        name: 'chat gpt-4o',
        kind: 3,
        scope: 'orangebox',
        schemaUrl: SEMCONV_SCHEMA_URL,
        startUnixNano: String(startUnixNano),
        endUnixNano: String(endUnixNano),
        resource: { 'service.name': 'shop', 'deployment.environment': 'test' },
      });
      expect(a?.attributes).toEqual({ [ATTR.snapshotKey]: key, 'gen_ai.usage.input_tokens': 5 });
      expect(b).toMatchObject({ traceId: first.traceId, parentSpanId: first.spanId, spanId: second.spanId });
      expect(receiver.requests[0]?.headers).toMatchObject({ 'x-team': 'blue one' });
      expect(Object.keys((globalThis as Record<symbol, object>)[API_GLOBAL] ?? {})).toEqual(before);
    },
  );

  it('exports under the mark of our own requests', async () => {
    receiver = await startOtlpReceiver();
    const storage = new AsyncLocalStorage<string>();
    const marks: (string | undefined)[] = [];
    receiver.behave(() => ({}));
    (globalThis as Record<symbol, unknown>)[Symbol.for('orangebox.runtime.1')] = {
      suppress: (fn: () => unknown) => storage.run('own', fn),
    };
    const { default: http } = await import('node:http');
    const original = http.request;
    http.request = ((...args: Parameters<typeof original>) => {
      marks.push(storage.getStore());
      return original(...args);
    }) as typeof original;
    const { syncBuiltinESMExports } = await import('node:module');
    syncBuiltinESMExports();
    try {
      const { spans } = setUp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
      record(spans);
      await spans.flush(10_000);
    } finally {
      http.request = original;
      syncBuiltinESMExports();
    }
    expect(receiver.metadataSpans()).toHaveLength(1);
    expect(marks.length).toBeGreaterThan(0);
    expect(new Set(marks)).toEqual(new Set(['own']));
  });

  it.each([{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }])('makes no span with %o', async (env) => {
    receiver = await startOtlpReceiver();
    const { exporter } = registerProvider();
    const { spans } = setUp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env });
    const ids = record(spans);
    await spans.flush(1000);
    expect(ids.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(receiver.seen).toBe(0);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('samples as OTEL_TRACES_SAMPLER says, and says so', async () => {
    receiver = await startOtlpReceiver();
    const { spans } = setUp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'always_off' });
    expect(record(spans).sampled).toBe(false);
    await spans.flush(1000);
    expect(receiver.seen).toBe(0);
  });

  it('does not make the program wait for a collector that is down', async () => {
    const { spans } = setUp({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    record(spans);
    const startMs = performance.now();
    await spans.flush(300);
    expect(performance.now() - startMs).toBeLessThan(2000);
  });

  it('says once that a collector takes no spans: without Orangebox keeping anything, all is lost then', async () => {
    receiver = await startOtlpReceiver(() => ({ status: 404 }));
    const { spans, told } = setUp({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    record(spans);
    await spans.flush(3000);
    expect(told).toEqual(['spans_refused']);
  });

  it('warns once about a limit on attribute values that cuts keys', () => {
    const { told } = setUp({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '64',
    });
    expect(told).toEqual(['attribute_value_limit']);
  });
});

describe('room for a payload', () => {
  const roomOf = (spans: ReturnType<typeof createCallSpans>) => {
    const handle = spans.start(startOf());
    spans.settle(handle, { attempts: [] });
    return spans.payloadRoom?.(handle);
  };

  it('is on a span of the private provider, as far as the environment lets it, unless the sampler drops it', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    expect(roomOf(setUp(endpoint).spans)).toEqual({ maxChars: Number.POSITIVE_INFINITY, isAcknowledged: true });
    expect(roomOf(setUp({ ...endpoint, OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '500' }).spans)?.maxChars).toBe(500);
    delete process.env['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
    expect(roomOf(setUp({ ...endpoint, OTEL_TRACES_SAMPLER: 'always_off' }).spans)).toBeUndefined();
    expect(roomOf(setUp().spans)).toBeUndefined();
  });

  it("is on an application's recorded span, as far as its limits let it", () => {
    const roomWith = (options: ConstructorParameters<typeof BasicTracerProvider>[0]) => {
      trace.disable();
      trace.setGlobalTracerProvider(new BasicTracerProvider(options));
      return roomOf(setUp().spans)?.maxChars;
    };
    expect(roomWith({})).toBe(Number.POSITIVE_INFINITY);
    expect(roomWith({ spanLimits: { attributeValueLengthLimit: 900 } })).toBe(900);
    expect(roomWith({ spanLimits: { eventCountLimit: 0 } })).toBe(0);
    expect(roomWith({ spanLimits: { attributePerEventCountLimit: 3 } })).toBe(0);
    expect(roomWith({ sampler: new AlwaysOffSampler() })).toBeUndefined();
  });

  it('takes an event back that a provider cut without showing its limits, and the key with it', () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      spanLimits: { attributeValueLengthLimit: 100 },
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    trace.setGlobalTracerProvider(provider);
    const { spans, told } = setUp();
    const handle = spans.start(startOf());
    spans.settle(handle, { attempts: [] });
    spans.end(handle, factsOf({ event: payloadEvent('digest', Buffer.alloc(1000), 'sha') }));
    const [span] = exporter.getFinishedSpans();
    expect(span?.events).toEqual([]);
    expect(span?.attributes).toMatchObject({ [ATTR.snapshotKey]: '', [ATTR.snapshotKeptLocal]: 'value_limit' });
    expect(told).toEqual(['inline_cut']);
  });
});
