/** What is measured of a call: the numbers that stand on its span, with the attributes that the conventions name. */
import { GEN_AI, HTTP_ATTR } from '@orangebox/schema';
import type { MeasurementAttributes } from '../otel/api-meters.ts';
import type { CallSpanFacts } from '../spans.ts';

/** Measurements of one call. */
export interface CallMeasurement {
  /** Seconds. */
  duration: number;
  /** Seconds; streamed answers only. */
  timeToFirstChunk?: number;
  inputTokens?: number;
  outputTokens?: number;
  /** Of all measurements. */
  attributes: MeasurementAttributes;
  /** Stands on the duration only. */
  errorType?: string;
}

/** Names and models come from the program: a long one is cut. */
const MAX_VALUE_CHARS = 200;

const SHARED: readonly string[] = [
  GEN_AI.operationName,
  GEN_AI.providerName,
  GEN_AI.requestModel,
  GEN_AI.responseModel,
  HTTP_ATTR.serverAddress,
  HTTP_ATTR.serverPort,
];

/** Undefined for what is no call of a model. */
export function measureCall(facts: CallSpanFacts): CallMeasurement | undefined {
  const { attributes: own } = facts;
  if (typeof own[GEN_AI.operationName] !== 'string') return undefined;
  const attributes: MeasurementAttributes = {};
  for (const name of SHARED) {
    const value = own[name];
    if (typeof value === 'string') attributes[name] = value.slice(0, MAX_VALUE_CHARS);
    else if (typeof value === 'number') attributes[name] = value;
  }
  const measurement: CallMeasurement = {
    duration: Number(facts.endUnixNano - facts.startUnixNano) / 1e9,
    attributes,
  };
  const firstChunk = numberOf(own[GEN_AI.responseTimeToFirstChunk]);
  const input = numberOf(own[GEN_AI.usageInputTokens]);
  const output = numberOf(own[GEN_AI.usageOutputTokens]);
  const errorType = own[HTTP_ATTR.errorType];
  if (firstChunk !== undefined) measurement.timeToFirstChunk = firstChunk;
  if (input !== undefined) measurement.inputTokens = input;
  if (output !== undefined) measurement.outputTokens = output;
  if (typeof errorType === 'string') measurement.errorType = errorType.slice(0, MAX_VALUE_CHARS);
  return measurement;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Value of attributes that would make one more combination than are kept apart. */
export const OTHER = '_OTHER';

const DEFAULT_COMBINATIONS = 1000;

/**
 * Keeps models, servers and error types from making ever more time series: they come from the program and from whoever
 * answers it. The SDK has a bound of its own (2000 per instrument), but older ones have none.
 */
export class BoundedAttributes {
  readonly #seen = new Set<string>();
  readonly #max: number;

  constructor(max: number = DEFAULT_COMBINATIONS) {
    this.#max = max;
  }

  /** The attributes as they are, or with what the program chose replaced. */
  bound(attributes: MeasurementAttributes): MeasurementAttributes {
    const key = JSON.stringify(attributes);
    if (this.#seen.has(key)) return attributes;
    if (this.#seen.size < this.#max) {
      this.#seen.add(key);
      return attributes;
    }
    const { [HTTP_ATTR.serverPort]: _port, ...kept } = attributes;
    for (const name of [GEN_AI.requestModel, GEN_AI.responseModel, HTTP_ATTR.serverAddress, HTTP_ATTR.errorType]) {
      if (kept[name] !== undefined) kept[name] = OTHER;
    }
    return kept;
  }
}
