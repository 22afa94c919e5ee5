/**
 * OTLP protobuf envelopes (`*.binpb`) that collectors write: a `TracesData`, bare or in frames with a 4-byte big-endian
 * length. Of them only what carries snapshots is read: resource attribute, event name and event attributes.
 * https://github.com/open-telemetry/opentelemetry-proto
 */
import { WireType } from '@bufbuild/protobuf/wire';
import { ATTR, PAYLOAD } from '@orangebox/schema';
import { type Attributes, eachField, eachMessage, readAttributes, textOf } from './otlp-wire.ts';

/** One part of a payload as an envelope carries it. */
export interface EnvelopePart {
  /** `orangebox.snapshot.key` of the resource, or of the span. */
  key: string;
  bytes: Uint8Array;
  index: number;
  count: number;
  /** Hex SHA-256 of the whole gzip; empty where the writer did not say. */
  payloadSha256: string;
  /** Hex SHA-256 of this part. */
  partSha256?: string;
}

/** The payload parts in an object. What cannot be read gives none; a frame cut at the end is passed over. */
export function readEnvelopes(bytes: Uint8Array): EnvelopePart[] {
  const framed = splitFrames(bytes);
  if (framed) {
    const parts = framed.flatMap((frame) => readTracesData(frame) ?? []);
    if (parts.length > 0) return parts;
  }
  return readTracesData(bytes) ?? [];
}

/** Frames of a file whose first four bytes can be a frame's length; undefined when they cannot. */
function splitFrames(bytes: Uint8Array): Uint8Array[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames: Uint8Array[] = [];
  let offset = 0;
  while (offset + 4 <= bytes.length) {
    const length = view.getUint32(offset);
    if (length === 0 || offset + 4 + length > bytes.length) break;
    frames.push(bytes.subarray(offset + 4, offset + 4 + length));
    offset += 4 + length;
  }
  return frames.length > 0 ? frames : undefined;
}

function readTracesData(bytes: Uint8Array): EnvelopePart[] | undefined {
  const parts: EnvelopePart[] = [];
  try {
    eachMessage(bytes, 1, (resourceSpans) => readResourceSpans(resourceSpans, parts));
    return parts;
  } catch {
    // Not protobuf, or cut: what was whole before counts.
    return parts.length > 0 ? parts : undefined;
  }
}

function readResourceSpans(bytes: Uint8Array, parts: EnvelopePart[]): void {
  const resource: Attributes = new Map();
  eachMessage(bytes, 1, (message) => readAttributes(message, 1, resource));
  eachMessage(bytes, 2, (scopeSpans) => {
    eachMessage(scopeSpans, 2, (span) => readSpan(span, resource, parts));
  });
}

function readSpan(bytes: Uint8Array, resource: Attributes, parts: EnvelopePart[]): void {
  const attributes: Attributes = new Map();
  readAttributes(bytes, 9, attributes);
  const key = textOf(resource.get(ATTR.snapshotKey)) ?? textOf(attributes.get(ATTR.snapshotKey));
  if (key === undefined) return;
  eachMessage(bytes, 11, (event) => {
    let name = '';
    eachField(event, (field, type, reader) => {
      if (field === 2 && type === WireType.LengthDelimited) name = reader.string();
      else reader.skip(type, field);
    });
    if (name !== PAYLOAD.eventName) return;
    const own: Attributes = new Map();
    readAttributes(event, 3, own);
    const body = bodyBytes(own.get(PAYLOAD.body));
    if (!body) return;
    const partSha256 = textOf(own.get(PAYLOAD.partSha256));
    parts.push({
      key,
      bytes: body,
      index: integer(own.get(PAYLOAD.partIndex)) ?? 0,
      count: integer(own.get(PAYLOAD.partCount)) ?? 1,
      payloadSha256: textOf(own.get(PAYLOAD.payloadSha256)) ?? '',
      ...(partSha256 === undefined ? {} : { partSha256 }),
    });
  });
}

/** Bytes as they are, or base64 text (inline transport). */
function bodyBytes(value: string | number | Uint8Array | undefined): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
}

function integer(value: string | number | Uint8Array | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
