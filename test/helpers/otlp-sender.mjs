/** Makes OTLP requests with payload events, encoded by protobufjs from the published field numbers: not by our own encoder. */
import { createHash } from 'node:crypto';
import protobuf from 'protobufjs';

const PROTO = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span { bytes trace_id = 1; bytes span_id = 2; string name = 5; int32 kind = 6; repeated KeyValue attributes = 9; repeated Event events = 11; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; bytes bytes_value = 7; } }
message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
message Status { int32 code = 1; string message = 2; }
`;
const { root } = protobuf.parse(PROTO);
const RequestType = root.lookupType('ExportTraceServiceRequest');
const plain = { longs: Number, defaults: false };

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Attributes of a right payload event; what is undefined in `changes` is left out. */
export function partAttributes(part, changes = {}) {
  const { bytes, digest, index = 0, count = 1, payloadSha256 = sha256(bytes) } = part;
  const all = {
    'orangebox.snapshot.encoding': 'gzip',
    'orangebox.snapshot.digest': digest,
    'orangebox.payload.sha256': payloadSha256,
    'orangebox.part.index': index,
    'orangebox.part.count': count,
    'orangebox.part.sha256': sha256(bytes),
    'orangebox.snapshot.body': bytes,
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

const bytesText = (bytes) => Buffer.from(bytes).toString('base64');

function anyValue(value, json) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: json ? String(value) : value } : { doubleValue: value };
  return { bytesValue: json ? bytesText(value) : value };
}

const keyValues = (attributes, json) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value, json) }));

/**
 * A request. `resources`: `{attributes, spans: [{attributes, events: [{name, attributes}]}]}`.
 */
export function traceRequest(resources, { json = false } = {}) {
  const message = {
    resourceSpans: resources.map(({ attributes = {}, spans = [] }) => ({
      resource: { attributes: keyValues(attributes, json) },
      scopeSpans: [
        {
          spans: spans.map((span) => ({
            traceId: json ? '0102030405060708090a0b0c0d0e0f10' : Buffer.alloc(16, 1),
            spanId: json ? '0102030405060708' : Buffer.alloc(8, 1),
            name: 'chat',
            kind: 3,
            attributes: keyValues(span.attributes ?? {}, json),
            events: (span.events ?? []).map((event) => ({
              name: event.name ?? 'orangebox.snapshot',
              attributes: keyValues(event.attributes ?? {}, json),
            })),
          })),
        },
      ],
    })),
  };
  if (json) return Buffer.from(JSON.stringify(message));
  return Buffer.from(RequestType.encode(RequestType.fromObject(message)).finish());
}

/** A request with one part of a payload, as the recorder's twin has it. */
export function partRequest(key, part, changes = {}, options = {}) {
  const attributes = { 'service.name': 'shop', ...(key === undefined ? {} : { 'orangebox.snapshot.key': key }) };
  return traceRequest([{ attributes, spans: [{ events: [{ attributes: partAttributes(part, changes) }] }] }], options);
}

const decode = (name, bytes) => {
  const type = root.lookupType(name);
  return type.toObject(type.decode(bytes), plain);
};

/** An answer in protobuf, taken apart. */
export const decodeExportResponse = (bytes) => decode('ExportTraceServiceResponse', bytes);
export const decodeStatus = (bytes) => decode('Status', bytes);
