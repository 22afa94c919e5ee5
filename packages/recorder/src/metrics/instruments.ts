/** The instruments that Orangebox makes with one meter provider. */
import { GEN_AI, HTTP_ATTR, INSTRUMENTATION_SCOPE, METRIC, METRIC_ATTR, SEMCONV_SCHEMA_URL } from '@orangebox/schema';
import { API_VALUE_TYPE, type ApiMeterProvider, type MeasurementAttributes } from '../otel/api-meters.ts';
import { ROOT_CONTEXT } from '../otel/context.ts';
import { BoundedAttributes, type CallMeasurement } from './call-measurement.ts';
import type { RecorderHealth } from './recorder-health.ts';

/** Boundaries that the conventions ask for. https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/ */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Measures calls. */
export interface Instruments {
  record(call: CallMeasurement): void;
}

/** Makes them; what observes the recorder's health stays for the provider's life. */
export function createInstruments(
  provider: ApiMeterProvider,
  version: string,
  health: () => RecorderHealth,
): Instruments {
  const meter = provider.getMeter(INSTRUMENTATION_SCOPE, version, { schemaUrl: SEMCONV_SCHEMA_URL });
  const seconds = (name: string, description: string): ReturnType<typeof meter.createHistogram> =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      valueType: API_VALUE_TYPE.double,
      advice: { explicitBucketBoundaries: SECONDS },
    });
  const duration = seconds(METRIC.operationDuration, 'Duration of calls of a model, retries included.');
  const firstChunk = seconds(METRIC.timeToFirstChunk, 'Time from the request to the first chunk of a streamed answer.');
  const tokens = meter.createHistogram(METRIC.tokenUsage, {
    description: 'Input and output tokens of calls, as the provider counted them.',
    unit: '{token}',
    valueType: API_VALUE_TYPE.int,
    advice: { explicitBucketBoundaries: TOKENS },
  });

  const count = (name: string, unit: string, description: string, read: (health: RecorderHealth) => Observed): void =>
    meter
      .createObservableCounter(name, { description, unit, valueType: API_VALUE_TYPE.int })
      .addCallback((observation) => {
        for (const [value, attributes] of read(health())) observation.observe(value, attributes);
      });
  const gauge = (
    name: string,
    unit: string,
    description: string,
    read: (health: RecorderHealth) => number | undefined,
  ): void =>
    meter
      .createObservableGauge(name, { description, unit, valueType: API_VALUE_TYPE.double })
      .addCallback((observation) => {
        const value = read(health());
        if (value !== undefined) observation.observe(value);
      });
  count(METRIC.recorded, '{snapshot}', 'Snapshots written to the segment.', (h) =>
    byName(METRIC_ATTR.kind, h.recorded),
  );
  count(METRIC.notSampled, '{snapshot}', 'What sampling or the level let go.', (h) =>
    byName(METRIC_ATTR.kind, h.notKept),
  );
  count(METRIC.dropped, '{snapshot}', 'What was not kept or not sent.', (h) => byName(METRIC_ATTR.reason, h.dropped));
  count(METRIC.sent, '{snapshot}', 'Snapshots that whoever was sent them acknowledged.', ({ sent }) =>
    sent === undefined ? [] : [[sent]],
  );
  count(METRIC.segmentBytes, 'By', 'Bytes written to segments.', (h) => [[h.segmentBytes]]);
  gauge(METRIC.segmentSize, 'By', 'Bytes of the segment file that is written to.', (h) => h.segmentSizeBytes);
  gauge(METRIC.pending, '{snapshot}', 'Snapshots that wait to be sent.', (h) => h.pending);
  gauge(METRIC.oldestUnsentAge, 's', 'How long the oldest of them has waited.', (h) => h.oldestUnsentAgeS);

  const bounded = new BoundedAttributes();
  return {
    record(call) {
      const { errorType } = call;
      const shared = bounded.bound(errorType === undefined ? call.attributes : withError(call.attributes, errorType));
      const { [HTTP_ATTR.errorType]: _error, ...withoutError } = shared;
      duration.record(call.duration, shared, ROOT_CONTEXT);
      if (call.timeToFirstChunk !== undefined) firstChunk.record(call.timeToFirstChunk, withoutError, ROOT_CONTEXT);
      const count = (type: string, value: number | undefined): void => {
        if (value !== undefined) tokens.record(value, { ...withoutError, [GEN_AI.tokenType]: type }, ROOT_CONTEXT);
      };
      count('input', call.inputTokens);
      count('output', call.outputTokens);
    },
  };
}

type Observed = [value: number, attributes?: MeasurementAttributes][];

function byName(attribute: string, counts: Record<string, number>): Observed {
  return Object.entries(counts).map(([name, count]) => [count, { [attribute]: name }]);
}

function withError(attributes: MeasurementAttributes, errorType: string): MeasurementAttributes {
  return { ...attributes, [HTTP_ATTR.errorType]: errorType };
}
