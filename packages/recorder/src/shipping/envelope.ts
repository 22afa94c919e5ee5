/**
 * The payload twin: an OTLP request that carries one part of a snapshot. The span in it has the ids, name and times of
 * the call's own span; its resource names the snapshot's key, so that a collector can route and store it unread.
 */
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import {
  ATTR,
  INSTRUMENTATION_SCOPE,
  type Json,
  type JsonObject,
  PAYLOAD,
  SEMCONV_SCHEMA_URL,
} from '@orangebox/schema';
import { type HrTime, hrTime, SAMPLED_FLAG } from '../otel/api-shapes.ts';
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

/** Protobuf bytes of an `ExportTraceServiceRequest` with one span, one event and one part. */
export function encodeEnvelope(
  item: Pick<ShipItem, 'key' | 'digest' | 'traceId' | 'spanId' | 'spanJson'>,
  part: PayloadPart,
  serviceName: string,
): Uint8Array {
  const own = isObject(item.spanJson) ? item.spanJson : {};
  const endTime = time(own['endTimeUnixNano']);
  const parentSpanId = own['parentSpanId'];
  const ids = { traceId: item.traceId, traceFlags: SAMPLED_FLAG };
  const twin = {
    name: typeof own['name'] === 'string' ? own['name'] : 'orangebox.snapshot',
    // The API's kinds start at 0, OTLP's at 1.
    kind: typeof own['kind'] === 'number' ? Math.max(own['kind'] - 1, 0) : 0,
    spanContext: () => ({ ...ids, spanId: item.spanId }),
    ...(typeof parentSpanId === 'string' ? { parentSpanContext: { ...ids, spanId: parentSpanId } } : {}),
    startTime: time(own['startTimeUnixNano']),
    endTime,
    status: { code: 0 },
    attributes: {},
    links: [],
    events: [{ name: PAYLOAD.eventName, time: endTime, attributes: eventAttributes(item.digest, part) }],
    duration: [0, 0] as HrTime,
    ended: true,
    resource: { attributes: { 'service.name': serviceName, [ATTR.snapshotKey]: item.key } },
    instrumentationScope: { name: INSTRUMENTATION_SCOPE, version: recorderVersion, schemaUrl: SEMCONV_SCHEMA_URL },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
  // Bytes are no span attribute in the SDK's types, but the serializer writes them as `bytes_value` (tested).
  type Spans = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0];
  const bytes = ProtobufTraceSerializer.serializeRequest([twin] as unknown as Spans);
  if (!bytes) throw new Error('the payload could not be encoded');
  return bytes;
}

/** Spans that a 2xx answer says were not taken. */
export function rejectedSpans(answer: Uint8Array): { count: number; message: string } | undefined {
  if (answer.length === 0) return undefined;
  const { partialSuccess } = ProtobufTraceSerializer.deserializeResponse(answer);
  const count = Number(partialSuccess?.rejectedSpans ?? 0);
  return count > 0 ? { count, message: partialSuccess?.errorMessage ?? '' } : undefined;
}

function eventAttributes(digest: string, part: PayloadPart): Record<string, string | number | Uint8Array> {
  return {
    [PAYLOAD.body]: part.bytes,
    [PAYLOAD.encoding]: 'gzip',
    [PAYLOAD.digest]: digest,
    [PAYLOAD.payloadSha256]: part.payloadSha256,
    [PAYLOAD.partIndex]: part.index,
    [PAYLOAD.partCount]: part.count,
    [PAYLOAD.partSha256]: part.sha256,
  };
}

function time(value: Json | undefined): HrTime {
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? hrTime(BigInt(value)) : [0, 0];
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
