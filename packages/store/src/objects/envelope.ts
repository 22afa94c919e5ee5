/**
 * OTLP protobuf envelopes (`*.binpb`) that collectors write: a `TracesData`, bare or in frames with a 4-byte big-endian
 * length. Of them only what carries snapshots is read: resource attribute, event name and event attributes.
 * https://github.com/open-telemetry/opentelemetry-proto
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { ATTR, PAYLOAD } from '@orangebox/schema';

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

type Attributes = Map<string, string | number | Uint8Array>;

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
  const key = text(resource.get(ATTR.snapshotKey)) ?? text(attributes.get(ATTR.snapshotKey));
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
    const partSha256 = text(own.get(PAYLOAD.partSha256));
    parts.push({
      key,
      bytes: body,
      index: integer(own.get(PAYLOAD.partIndex)) ?? 0,
      count: integer(own.get(PAYLOAD.partCount)) ?? 1,
      payloadSha256: text(own.get(PAYLOAD.payloadSha256)) ?? '',
      ...(partSha256 === undefined ? {} : { partSha256 }),
    });
  });
}

/** Bytes as they are, or base64 text (inline transport). */
function bodyBytes(value: string | number | Uint8Array | undefined): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
}

function text(value: string | number | Uint8Array | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function integer(value: string | number | Uint8Array | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** `KeyValue` messages in a repeated field. Strings, integers and bytes are kept, other values are not needed. */
function readAttributes(bytes: Uint8Array, field: number, into: Attributes): void {
  eachMessage(bytes, field, (keyValue) => {
    let key = '';
    let value: string | number | Uint8Array | undefined;
    eachField(keyValue, (number, type, reader) => {
      if (number === 1 && type === WireType.LengthDelimited) key = reader.string();
      else if (number === 2 && type === WireType.LengthDelimited) value = readAnyValue(reader.bytes());
      else reader.skip(type, number);
    });
    if (key !== '' && value !== undefined) into.set(key, value);
  });
}

function readAnyValue(bytes: Uint8Array): string | number | Uint8Array | undefined {
  let value: string | number | Uint8Array | undefined;
  eachField(bytes, (number, type, reader) => {
    if (number === 1 && type === WireType.LengthDelimited) value = reader.string();
    else if (number === 3 && type === WireType.Varint) value = Number(reader.int64());
    else if (number === 7 && type === WireType.LengthDelimited) value = reader.bytes();
    else reader.skip(type, number);
  });
  return value;
}

function eachMessage(bytes: Uint8Array, field: number, visit: (message: Uint8Array) => void): void {
  eachField(bytes, (number, type, reader) => {
    if (number === field && type === WireType.LengthDelimited) visit(reader.bytes());
    else reader.skip(type, number);
  });
}

function eachField(bytes: Uint8Array, visit: (field: number, type: WireType, reader: BinaryReader) => void): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    visit(field, type, reader);
  }
}
