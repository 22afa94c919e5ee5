/**
 * The OpenTelemetry API by structure: enough of it to use an application's provider without importing an API package,
 * since the application's copy (1.4 to 1.10) is the only one that counts.
 * @see https://github.com/open-telemetry/opentelemetry-js/tree/main/api
 */
import type { SpanAttributes } from '../spans.ts';
import type { OtelContext } from '../wire-events.ts';

/** Seconds and nanoseconds since the Unix epoch. */
export type HrTime = [seconds: number, nanos: number];

/** Ids of a span. */
export interface ApiSpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
}

/** A span of any API version. */
export interface ApiSpan {
  spanContext(): ApiSpanContext;
  setAttributes(attributes: SpanAttributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  updateName(name: string): unknown;
  addEvent?(name: string, attributes: SpanAttributes, time: HrTime): unknown;
  end(endTime?: HrTime): void;
  isRecording(): boolean;
}

/** Options of {@link ApiTracer.startSpan}. */
export interface ApiSpanOptions {
  kind: number;
  startTime: HrTime;
  attributes?: SpanAttributes;
}

/** A tracer of any API version. */
export interface ApiTracer {
  startSpan(name: string, options: ApiSpanOptions, context: OtelContext): ApiSpan;
}

/** `SpanKind` of the API (not of OTLP, which counts from 1). */
export const API_SPAN_KIND = { internal: 0, client: 2 } as const;

/** `SpanStatusCode.ERROR`. */
export const API_STATUS_ERROR = 2;

/** `TraceFlags.SAMPLED`. */
export const SAMPLED_FLAG = 1;

/** `createContextKey` uses `Symbol.for`, so the keys are equal in every copy and version of the API. */
export const SPAN_KEY: symbol = Symbol.for('OpenTelemetry Context Key SPAN');

/** Key by which `suppressTracing` of `@opentelemetry/core` marks a context. */
export const SUPPRESS_KEY: symbol = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** Nanoseconds since the epoch as the API wants times. */
export function hrTime(unixNano: bigint): HrTime {
  return [Number(unixNano / 1_000_000_000n), Number(unixNano % 1_000_000_000n)];
}
