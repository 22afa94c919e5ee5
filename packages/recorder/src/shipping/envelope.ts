/**
 * The payload twin: an OTLP request that carries one part of a snapshot. The span in it has the ids, name and times of
 * the call's own span; its resource names the snapshot's key, so that a collector can route and store it unread.
 *
 * Written with a wire-level writer: the serializer of OpenTelemetry costs ten times as much to load, and copies the body
 * once for each of the seven messages around it. Field numbers are those of opentelemetry-proto 1.x.
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ATTR, INSTRUMENTATION_SCOPE, PAYLOAD, SEMCONV_SCHEMA_URL } from '@orangebox/schema';
import { recorderVersion } from '../otel/version.ts';
import type { ShipItem } from '../shipper.ts';

/** One part of a gzipped snapshot. */
export interface PayloadPart {
  bytes: Uint8Array;
  index: number;
  count: number;
  /** Hex SHA-256 of `bytes`. */
  sha256: string;
  /** Hex SHA-256 of the whole gzip. */
  payloadSha256: string;
}

/** `TRACE_FLAGS_SAMPLED` with the bit that says that the remote flag is known. */
const SPAN_FLAGS = 0x101;

/**
 * Protobuf bytes of an `ExportTraceServiceRequest` with one span, one event and one part: a head, and the part's own bytes
 * after it, uncopied. In each message the one that leads to the body stands last.
 */
export function encodeEnvelope(
  item: Pick<ShipItem, 'key' | 'digest' | 'traceId' | 'spanId' | 'spanHead' | 'serviceName'>,
  part: PayloadPart,
  serviceName: string,
): [head: Uint8Array, body: Uint8Array] {
  const { name = PAYLOAD.eventName, kind = 1, parentSpanId, startTimeUnixNano, endTimeUnixNano } = item.spanHead;
  const end = nanos(endTimeUnixNano);

  const request = new BinaryWriter();
  const resourceSpans = submessage(new BinaryWriter(), 1, (w) => {
    keyValue(w, 1, 'service.name', item.serviceName ?? serviceName);
    keyValue(w, 1, ATTR.snapshotKey, item.key);
  });
  const scopeSpans = submessage(text(new BinaryWriter(), 3, SEMCONV_SCHEMA_URL), 1, (w) => {
    text(text(w, 1, INSTRUMENTATION_SCOPE), 2, recorderVersion);
  });
  const span = new BinaryWriter();
  bytes(span, 1, hexBytes(item.traceId));
  bytes(span, 2, hexBytes(item.spanId));
  if (parentSpanId !== undefined) bytes(span, 4, hexBytes(parentSpanId));
  text(span, 5, name);
  span.tag(6, WireType.Varint).int32(kind);
  span.tag(7, WireType.Bit64).fixed64(nanos(startTimeUnixNano));
  span.tag(8, WireType.Bit64).fixed64(end);
  span.tag(16, WireType.Bit32).fixed32(SPAN_FLAGS);
  const event = new BinaryWriter();
  event.tag(1, WireType.Bit64).fixed64(end);
  text(event, 2, PAYLOAD.eventName);
  keyValue(event, 3, PAYLOAD.encoding, 'gzip');
  keyValue(event, 3, PAYLOAD.digest, item.digest);
  keyValue(event, 3, PAYLOAD.payloadSha256, part.payloadSha256);
  keyValue(event, 3, PAYLOAD.partIndex, part.index);
  keyValue(event, 3, PAYLOAD.partCount, part.count);
  keyValue(event, 3, PAYLOAD.partSha256, part.sha256);
  const attribute = text(new BinaryWriter(), 1, PAYLOAD.body);

  // From the inside out: each message is what stands in it already, then the one within it.
  const levels: [message: BinaryWriter, field: number][] = [
    [new BinaryWriter(), 7], // AnyValue.bytes_value
    [attribute, 2], // KeyValue.value
    [event, 3], // Event.attributes
    [span, 11], // Span.events
    [scopeSpans, 2], // ScopeSpans.spans
    [resourceSpans, 2], // ResourceSpans.scope_spans
    [request, 1], // ExportTraceServiceRequest.resource_spans
  ];
  const heads: Uint8Array[] = [];
  let innerBytes = part.bytes.length;
  for (const [message, field] of levels) {
    const head = message.tag(field, WireType.LengthDelimited).uint32(innerBytes).finish();
    heads.unshift(head);
    innerBytes += head.length;
  }
  return [Buffer.concat(heads), part.bytes];
}

/** Spans that a 2xx answer (`ExportTraceServiceResponse`) says were not taken. */
export function rejectedSpans(answer: Uint8Array): { count: number; message: string } | undefined {
  const rejected = { count: 0, message: '' };
  const reader = new BinaryReader(answer);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field !== 1 || type !== WireType.LengthDelimited) {
      reader.skip(type);
      continue;
    }
    const partial = new BinaryReader(reader.bytes());
    while (partial.pos < partial.len) {
      const [inner, innerType] = partial.tag();
      if (inner === 1 && innerType === WireType.Varint) rejected.count = Number(partial.int64());
      else if (inner === 2 && innerType === WireType.LengthDelimited) rejected.message = partial.string();
      else partial.skip(innerType);
    }
  }
  return rejected.count > 0 ? rejected : undefined;
}

function submessage(writer: BinaryWriter, field: number, write: (writer: BinaryWriter) => void): BinaryWriter {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  return writer.join();
}

function text(writer: BinaryWriter, field: number, value: string): BinaryWriter {
  return writer.tag(field, WireType.LengthDelimited).string(value);
}

function bytes(writer: BinaryWriter, field: number, value: Uint8Array): BinaryWriter {
  return writer.tag(field, WireType.LengthDelimited).bytes(value);
}

function keyValue(writer: BinaryWriter, field: number, key: string, value: string | number): void {
  submessage(writer, field, (pair) => {
    submessage(text(pair, 1, key), 2, (any) => {
      if (typeof value === 'string') text(any, 1, value);
      else any.tag(3, WireType.Varint).int64(value);
    });
  });
}

function hexBytes(hex: string): Uint8Array {
  return Buffer.from(hex, 'hex');
}

function nanos(value = ''): string {
  return /^\d{1,19}$/.test(value) ? value : '0';
}
