/**
 * The metrics half of the OpenTelemetry API by structure, as `api-shapes.ts` is the tracing half, and the provider that
 * the application registered there.
 * @see https://github.com/open-telemetry/opentelemetry-js/tree/main/api
 */
import type { OtelContext } from '../wire-events.ts';

/** Attributes of a measurement. */
export interface MeasurementAttributes {
  [name: string]: string | number;
}

/** A histogram of any API version. */
export interface ApiHistogram {
  record(value: number, attributes: MeasurementAttributes, context: OtelContext): void;
}

/** What an observable's callback writes to. */
export interface ApiObservation {
  observe(value: number, attributes?: MeasurementAttributes): void;
}

/** An observable counter or gauge of any API version. */
export interface ApiObservable {
  addCallback(callback: (observation: ApiObservation) => void): void;
}

/** Options of an instrument. */
export interface ApiInstrumentOptions {
  description: string;
  unit: string;
  valueType: number;
  /** Versions of the API before 1.7 do not know it. */
  advice?: { explicitBucketBoundaries: number[] };
}

/** A meter of any API version. */
export interface ApiMeter {
  createHistogram(name: string, options: ApiInstrumentOptions): ApiHistogram;
  createObservableCounter(name: string, options: ApiInstrumentOptions): ApiObservable;
  createObservableGauge(name: string, options: ApiInstrumentOptions): ApiObservable;
}

/** A provider of meters. */
export interface ApiMeterProvider {
  getMeter(name: string, version: string, options: { schemaUrl: string }): ApiMeter;
}

/** `ValueType` of the API. */
export const API_VALUE_TYPE = { int: 0, double: 1 } as const;
