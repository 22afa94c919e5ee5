/** Reading JSON that somebody else wrote: nothing is cast, nothing is trusted to have the shape it should. */
import type { SpanAttribute } from './trace-source.ts';

/** An object of an answer; its values are read one by one. */
export type ForeignObject = { readonly [key: string]: unknown };

/** Deeper attribute values are cut. */
const DEPTH_MAX = 16;
const MAX_UNIX_NANO = 2n ** 64n;

/** The value if it is an object, else an empty one. */
export function objectOf(value: unknown): ForeignObject {
  return isObject(value) ? value : {};
}

/** Whether the value is an object and no array. */
export function isObject(value: unknown): value is ForeignObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an array, else an empty one. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An own field of an object. Inherited ones (`constructor`) are none. */
export function field(object: ForeignObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The first of several names of a field: OTLP/JSON allows `traceId` and `trace_id`. */
export function firstField(object: ForeignObject, ...names: string[]): unknown {
  for (const name of names) if (Object.hasOwn(object, name)) return object[name];
  return undefined;
}

/** A text that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Nanoseconds since the epoch as a decimal string; `0` for what is none. */
export function unixNanoOf(value: unknown): string {
  if (typeof value === 'string' && /^\d{1,20}$/.test(value) && BigInt(value) < MAX_UNIX_NANO)
    return String(BigInt(value));
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return String(value);
  // A backend that writes nanoseconds as a JSON number has lost the last digits already.
  if (typeof value === 'number' && value > 0 && value < Number(MAX_UNIX_NANO)) return String(BigInt(Math.trunc(value)));
  return '0';
}

/** A number from a JSON number or a decimal text; integers beyond the safe range stay text. */
export function numberOf(value: unknown): number | string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !/^-?\d{1,20}$/.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** An empty attribute set: without a prototype, so that an attribute called `__proto__` is one like any other. */
export function newAttributes(): Record<string, SpanAttribute> {
  return Object.create(null) as Record<string, SpanAttribute>;
}

/** `KeyValue[]` of OTLP/JSON. What is no attribute is passed over. */
export function otlpAttributes(list: unknown): Record<string, SpanAttribute> {
  const to = newAttributes();
  for (const item of arrayOf(list)) {
    const pair = objectOf(item);
    const key = textOf(field(pair, 'key'));
    const value = key === undefined ? undefined : anyValue(field(pair, 'value'), 0);
    if (key !== undefined && value !== undefined) to[key] = value;
  }
  return to;
}

/** `AnyValue` of OTLP/JSON: bytes stay base64 text, a map becomes its JSON text. */
function anyValue(given: unknown, depth: number): SpanAttribute | undefined {
  if (!isObject(given) || depth > DEPTH_MAX) return undefined;
  for (const [name, value] of Object.entries(given)) {
    switch (name) {
      case 'stringValue':
      case 'string_value':
      case 'bytesValue':
      case 'bytes_value':
        if (typeof value === 'string') return value;
        break;
      case 'boolValue':
      case 'bool_value':
        if (typeof value === 'boolean') return value;
        break;
      case 'intValue':
      case 'int_value':
        return numberOf(value);
      case 'doubleValue':
      case 'double_value':
        // Protobuf's JSON writes what JSON cannot as text: NaN, Infinity.
        return typeof value === 'string' ? value.slice(0, 32) : numberOf(value);
      case 'arrayValue':
      case 'array_value':
        return arrayOf(field(objectOf(value), 'values')).flatMap((item) => anyValue(item, depth + 1) ?? []);
      case 'kvlistValue':
      case 'kvlist_value':
        return mapText(field(objectOf(value), 'values'), depth + 1);
      default:
    }
  }
  return undefined;
}

function mapText(values: unknown, depth: number): string {
  const to = newAttributes();
  for (const item of arrayOf(values)) {
    const pair = objectOf(item);
    const key = textOf(field(pair, 'key'));
    const value = key === undefined ? undefined : anyValue(field(pair, 'value'), depth);
    if (key !== undefined && value !== undefined) to[key] = value;
  }
  return JSON.stringify(to);
}
