/**
 * OTLP/JSON as protobuf's JSON mapping has it: names in lower camel case, integers as numbers or strings, bytes as base64.
 * @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
import { PAYLOAD } from '@orangebox/schema';
import {
  addEvent,
  type Attributes,
  type AttributeValue,
  payloadEvent,
  type TraceRequest,
  type TraceRequestLimits,
} from '@orangebox/store';
import { hasMoreValues } from './json-size.ts';

type JsonObject = Record<string, unknown>;

/**
 * Reads an `ExportTraceServiceRequest` in JSON.
 *
 * @throws Error what is not one, or goes beyond a limit (`fields` bounds its values).
 */
export function readJsonRequest(bytes: Uint8Array, limits: TraceRequestLimits): TraceRequest {
  if (hasMoreValues(bytes, limits.fields)) throw new RangeError('too many values');
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  const message: unknown = JSON.parse(text);
  if (!isObject(message)) throw new TypeError('no JSON object');
  const request: TraceRequest = { spanCount: 0, events: [] };
  for (const resourceSpans of objects(message['resourceSpans'])) {
    const resource = isObject(resourceSpans['resource']) ? attributes(resourceSpans['resource']) : new Map();
    for (const scopeSpans of objects(resourceSpans['scopeSpans'])) {
      for (const span of objects(scopeSpans['spans'])) {
        request.spanCount += 1;
        const own = attributes(span);
        for (const event of objects(span['events'])) {
          if (event['name'] !== PAYLOAD.eventName) continue;
          addEvent(request, payloadEvent(resource, own, attributes(event)), limits);
        }
      }
    }
  }
  return request;
}

function attributes(owner: JsonObject): Attributes {
  const found: Attributes = new Map();
  for (const { key, value } of objects(owner['attributes']) as { key?: unknown; value?: unknown }[]) {
    const plain = isObject(value) ? plainValue(value) : undefined;
    if (typeof key === 'string' && plain !== undefined) found.set(key, plain);
  }
  return found;
}

function plainValue(value: JsonObject): AttributeValue | undefined {
  const { stringValue, intValue, bytesValue } = value;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof intValue === 'number' && Number.isSafeInteger(intValue)) return intValue;
  if (typeof intValue === 'string' && /^-?\d{1,15}$/.test(intValue)) return Number(intValue);
  // Base64, which is what the reader of the body takes a string for.
  return typeof bytesValue === 'string' ? bytesValue : undefined;
}

/** The objects of a repeated field; a missing field is an empty one. */
function objects(value: unknown): JsonObject[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every(isObject)) throw new TypeError('a repeated field holds other than objects');
  return value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
