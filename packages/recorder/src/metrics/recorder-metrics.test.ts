import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { METRIC } from '@orangebox/schema';
import { afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import type { ApiMeterProvider } from '../otel/api-meters.ts';
import type { CallSpanFacts } from '../spans.ts';
import { BoundedAttributes, measureCall, OTHER } from './call-measurement.ts';
import { recorderHealth } from './recorder-health.ts';
import { RecorderMetrics } from './recorder-metrics.ts';

afterEach(() => metrics.disable());

function factsOf(attributes: CallSpanFacts['attributes'] = {}): CallSpanFacts {
  return {
    name: 'chat m',
    startUnixNano: 1_000_000_000n,
    endUnixNano: 1_250_000_000n,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', ...attributes },
    status: { code: 'unset' },
    attempts: [],
  };
}

function meterProvider() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  /** Data points of a metric after one more export. */
  const points = async (name: string) => {
    await provider.forceFlush();
    const last = exporter.getMetrics().at(-1);
    const found = last?.scopeMetrics.flatMap((scope) => scope.metrics).find((m) => m.descriptor.name === name);
    return found?.dataPoints ?? [];
  };
  return { provider, points };
}

function setUp(env: Record<string, string> = {}) {
  const told: string[] = [];
  const own = meterProvider();
  let loads = 0;
  let stops = 0;
  const recorder = new RecorderMetrics({
    config: readConfig({ ORANGEBOX_DIR: '/nowhere', ...env }, () => {}),
    reporter: { warn: (code) => void told.push(code), count: (code) => void told.push(code) },
    health: () =>
      recorderHealth({
        recorded: { llm: 2 },
        notKept: { llm: 7, tool: 1 },
        unwritten: 1,
        faults: { payload_refused: 3, inline_cut: 1, inline_value_limit: 1, other: 9 },
        shipper: undefined,
        segmentBytes: 10,
        segmentSizeBytes: 5,
      }),
    load: () => {
      loads++;
      return Promise.resolve({
        provider: own.provider as unknown as ApiMeterProvider,
        flush: () => own.provider.forceFlush(),
        shutdown: () => {
          stops++;
          return Promise.resolve();
        },
      });
    },
  });
  return { recorder, own, told, loads: () => loads, stops: () => stops };
}

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

it('holds measurements until the SDK is loaded, which a flush does not wait a second for', async () => {
  const { recorder, own, loads } = setUp(ENDPOINT);
  recorder.callEnded(factsOf(), false);
  recorder.callEnded(factsOf(), true);
  expect(loads()).toBe(0);
  await recorder.flush(5000);
  expect(loads()).toBe(1);
  expect(await own.points(METRIC.operationDuration)).toMatchObject([{ value: { count: 1, sum: 0.25 } }]);
});

it('measures by a provider that the application registers late, and leaves the private one', async () => {
  const { recorder, own, stops } = setUp(ENDPOINT);
  recorder.callEnded(factsOf(), false);
  await recorder.flush(5000);
  const application = meterProvider();
  metrics.setGlobalMeterProvider(application.provider);
  recorder.callEnded(factsOf(), false);
  recorder.callEnded(factsOf(), false);
  expect(await application.points(METRIC.operationDuration)).toMatchObject([{ value: { count: 2 } }]);
  expect(await own.points(METRIC.operationDuration)).toMatchObject([{ value: { count: 1 } }]);
  expect(stops()).toBe(1);
});

it('loads nothing where metrics have nowhere to go', async () => {
  for (const env of [{}, { ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none' }, { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }]) {
    const { recorder, loads } = setUp(env);
    recorder.callEnded(factsOf(), false);
    await recorder.flush(100);
    expect(loads()).toBe(0);
  }
});

it("uses no provider, not even the application's, where metrics are switched off", async () => {
  const application = meterProvider();
  metrics.setGlobalMeterProvider(application.provider);
  const { recorder } = setUp({ OTEL_METRICS_EXPORTER: 'none' });
  recorder.callEnded(factsOf(), false);
  expect(await application.points(METRIC.operationDuration)).toEqual([]);
});

it('bears a meter provider that fails', () => {
  const { recorder, told } = setUp();
  metrics.setGlobalMeterProvider({
    getMeter() {
      throw new Error('no meters today');
    },
  });
  recorder.callEnded(factsOf(), false);
  expect(told).toEqual(['meter_provider']);
});

it('shows the health of the recorder, dropped by reason', async () => {
  const application = meterProvider();
  metrics.setGlobalMeterProvider(application.provider);
  const { recorder } = setUp();
  recorder.touched();
  const dropped = await application.points(METRIC.dropped);
  expect(Object.fromEntries(dropped.map((p) => [p.attributes['orangebox.reason'], p.value]))).toEqual({
    no_storage: 1,
    refused: 3,
    value_limit: 2,
  });
  const notSampled = await application.points(METRIC.notSampled);
  expect(Object.fromEntries(notSampled.map((p) => [p.attributes['orangebox.snapshot.kind'], p.value]))).toEqual({
    llm: 7,
    tool: 1,
  });
  expect(await application.points(METRIC.recorded)).toMatchObject([
    { value: 2, attributes: { 'orangebox.snapshot.kind': 'llm' } },
  ]);
  expect(await application.points(METRIC.sent)).toEqual([]);
});

describe('hostile names', () => {
  it('are cut', () => {
    const measured = measureCall(
      factsOf({ 'gen_ai.request.model': 'x'.repeat(10_000), 'error.type': 'y'.repeat(999) }),
    );
    expect(measured?.attributes['gen_ai.request.model']).toHaveLength(200);
    expect(measured?.errorType).toHaveLength(200);
  });

  it('make no more than a bounded number of time series', async () => {
    const application = meterProvider();
    metrics.setGlobalMeterProvider(application.provider);
    const { recorder } = setUp();
    for (let i = 0; i < 5000; i++) {
      recorder.callEnded(factsOf({ 'gen_ai.request.model': `m${i}`, 'error.type': `e${i}` }), false);
    }
    const points = await application.points(METRIC.operationDuration);
    expect(points).toHaveLength(1001);
    expect(points.at(-1)).toMatchObject({
      value: { count: 4000 },
      attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': OTHER, 'error.type': OTHER },
    });
  });

  it('keep what was seen before', () => {
    const bounded = new BoundedAttributes(1);
    expect(bounded.bound({ 'gen_ai.request.model': 'a' })).toEqual({ 'gen_ai.request.model': 'a' });
    expect(bounded.bound({ 'gen_ai.request.model': 'b', 'server.port': 1 })).toEqual({ 'gen_ai.request.model': OTHER });
    expect(bounded.bound({ 'gen_ai.request.model': 'a' })).toEqual({ 'gen_ai.request.model': 'a' });
  });
});

it('takes no negative or foreign numbers for tokens', () => {
  const measured = measureCall(factsOf({ 'gen_ai.usage.input_tokens': -5, 'gen_ai.usage.output_tokens': 'many' }));
  expect(measured).not.toHaveProperty('inputTokens');
  expect(measured).not.toHaveProperty('outputTokens');
  expect(measureCall({ ...factsOf(), attributes: {} })).toBeUndefined();
});
