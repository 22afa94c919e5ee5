/**
 * An OTLP/HTTP receiver for tests. It decodes protobuf with protobufjs from the published field numbers (and JSON as it
 * is), and answers as it is told: late, with any status, or not at all.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** The messages of opentelemetry-proto that a trace request is made of. */
const PROTO = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message InstrumentationScope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10; repeated Event events = 11; uint32 dropped_events_count = 12;
  repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7; }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`;
const RequestType = protobuf.parse(PROTO).root.lookupType('ExportTraceServiceRequest');

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const hex = (id) => (typeof id === 'string' ? id : Buffer.from(id ?? []).toString('hex'));

function plainValue(value) {
  if (!value) return undefined;
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.intValue !== undefined) return Number(value.intValue);
  if (value.doubleValue !== undefined) return value.doubleValue;
  if (value.bytesValue !== undefined) return Buffer.from(value.bytesValue);
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plainValue);
  if (value.kvlistValue !== undefined) return plainAttributes(value.kvlistValue.values);
  return undefined;
}

const plainAttributes = (list) => Object.fromEntries((list ?? []).map(({ key, value }) => [key, plainValue(value)]));

/** Spans of one request body, with plain attributes and the resource and scope they came under. */
export function decodeSpans(body, contentType) {
  const message = contentType.includes('json')
    ? JSON.parse(body.toString('utf8'))
    : RequestType.toObject(RequestType.decode(body), { longs: String, oneofs: false, defaults: false });
  return (message.resourceSpans ?? []).flatMap(({ resource, scopeSpans }) =>
    (scopeSpans ?? []).flatMap(({ scope, spans, schemaUrl }) =>
      (spans ?? []).map((span) => ({
        resource: plainAttributes(resource?.attributes),
        scope: scope?.name ?? '',
        schemaUrl: schemaUrl ?? '',
        name: span.name,
        // OTLP/JSON may give the enum's number or its name.
        kind: span.kind,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId) || undefined,
        startUnixNano: String(span.startTimeUnixNano),
        endUnixNano: String(span.endTimeUnixNano),
        attributes: plainAttributes(span.attributes),
        events: (span.events ?? []).map((e) => ({ name: e.name, attributes: plainAttributes(e.attributes) })),
        status: { code: span.status?.code ?? 0, message: span.status?.message },
      })),
    ),
  );
}

/**
 * Starts a receiver on a loopback port. `behave({path, body, number})` gives `{status, headers, body, delayMs}`, or
 * `{closeAfterBytes}` to cut the connection while the request comes in, or `{hang: true}` never to answer.
 */
export async function startOtlpReceiver(behave = () => ({})) {
  const requests = [];
  const listeners = new Set();
  const sockets = new Set();
  let number = 0;
  let behaviour = behave;
  const server = createServer(async (req, res) => {
    const n = ++number;
    const planned = behaviour({ path: req.url, number: n, headers: req.headers });
    req.on('error', () => {});
    if (planned.answerEarly) {
      res.writeHead(planned.status ?? 413, { connection: 'close' }).end();
      setImmediate(() => req.socket.destroySoon());
      return;
    }
    if (planned.stopReading) {
      req.pause();
      return;
    }
    const chunks = [];
    let size = 0;
    try {
      for await (const chunk of req) {
        chunks.push(chunk);
        size += chunk.length;
        if (planned.closeAfterBytes !== undefined && size >= planned.closeAfterBytes) {
          req.socket.destroy();
          break;
        }
      }
    } catch {
      return;
    }
    if (planned.closeAfterBytes !== undefined) {
      notify();
      return;
    }
    const raw = Buffer.concat(chunks);
    const body = req.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const status = planned.status ?? 200;
    const entry = {
      number: n,
      path: req.url,
      headers: req.headers,
      status,
      sizeBytes: raw.length,
      atMs: performance.now(),
      spans: decodeSpans(body, req.headers['content-type'] ?? ''),
    };
    const answer = () => {
      requests.push(entry);
      if (!planned.hang) res.writeHead(status, planned.headers ?? {}).end(planned.body ?? '');
      notify();
    };
    if (planned.delayMs) setTimeout(answer, planned.delayMs);
    else answer();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };
  const accepted = () => requests.filter((r) => r.status < 300).flatMap((r) => r.spans);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    /** Requests that began to arrive, also those that were cut. */
    get seen() {
      return number;
    },
    behave(next) {
      behaviour = next;
    },
    /** Spans of accepted requests that carry no payload. */
    metadataSpans: () => accepted().filter((s) => !s.events.some((e) => e.name === 'orangebox.snapshot')),
    /** Payloads of accepted requests, joined from their parts: `{key, digest, span, json, snapshot, parts}` by key. */
    payloads: () => joinPayloads(accepted()),
    /** Resolves when `condition()` holds, looked at after each request. */
    async until(condition, timeoutMs = 20_000) {
      if (condition()) return;
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          listeners.delete(look);
          reject(new Error(`the receiver waited ${timeoutMs} ms in vain; ${number} requests came`));
        }, timeoutMs);
        const look = () => {
          if (!condition()) return;
          clearTimeout(timer);
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
      });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}

function joinPayloads(spans) {
  const byKey = new Map();
  for (const span of spans) {
    const event = span.events.find((e) => e.name === 'orangebox.snapshot');
    if (!event) continue;
    const key = span.resource['orangebox.snapshot.key'];
    const entry = byKey.get(key) ?? {
      key,
      span,
      digest: event.attributes['orangebox.snapshot.digest'],
      parts: new Map(),
    };
    const part = event.attributes;
    if (sha256(part['orangebox.snapshot.body']) !== part['orangebox.part.sha256']) throw new Error('a part is damaged');
    entry.parts.set(part['orangebox.part.index'], part);
    byKey.set(key, entry);
  }
  return [...byKey.values()].map((entry) => {
    const parts = [...entry.parts.values()].sort((a, b) => a['orangebox.part.index'] - b['orangebox.part.index']);
    const complete = parts.length === parts[0]['orangebox.part.count'];
    if (!complete) return { ...entry, parts, complete };
    const gzip = Buffer.concat(parts.map((p) => p['orangebox.snapshot.body']));
    if (sha256(gzip) !== parts[0]['orangebox.payload.sha256']) throw new Error('the parts do not join');
    const json = gunzipSync(gzip);
    return { ...entry, parts, complete, json, snapshot: JSON.parse(json.toString('utf8')) };
  });
}
