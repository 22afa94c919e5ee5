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
message ExportMetricsServiceRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
message ScopeMetrics { InstrumentationScope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
message Metric {
  string name = 1; string description = 2; string unit = 3;
  oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
}
message Gauge { repeated NumberDataPoint data_points = 1; }
message Sum { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2; }
message NumberDataPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
  oneof value { double as_double = 4; sfixed64 as_int = 6; }
  repeated Exemplar exemplars = 5;
}
message HistogramDataPoint {
  repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
  optional double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
  repeated Exemplar exemplars = 8; optional double min = 11; optional double max = 12;
}
message Exemplar { fixed64 time_unix_nano = 2; }
`;
const protocol = protobuf.parse(PROTO).root;
const MetricsRequestType = protocol.lookupType('ExportMetricsServiceRequest');
const RequestType = protocol.lookupType('ExportTraceServiceRequest');

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

/** Data points of one metrics request body: `{name, unit, type, scope, resource, attributes, value | count, sum, bounds, counts}`. */
export function decodeMetrics(body, contentType) {
  const message = contentType.includes('json')
    ? JSON.parse(body.toString('utf8'))
    : MetricsRequestType.toObject(MetricsRequestType.decode(body), { longs: String, oneofs: false, defaults: false });
  return (message.resourceMetrics ?? []).flatMap(({ resource, scopeMetrics }) =>
    (scopeMetrics ?? []).flatMap(({ scope, metrics, schemaUrl }) =>
      (metrics ?? []).flatMap((metric) => {
        const type = metric.histogram ? 'histogram' : metric.sum ? 'sum' : 'gauge';
        return (metric[type]?.dataPoints ?? []).map((point) => ({
          name: metric.name,
          unit: metric.unit ?? '',
          type,
          scope: scope?.name ?? '',
          schemaUrl: schemaUrl ?? '',
          resource: plainAttributes(resource?.attributes),
          attributes: plainAttributes(point.attributes),
          exemplars: (point.exemplars ?? []).length,
          ...(type === 'histogram'
            ? {
                count: Number(point.count),
                sum: point.sum,
                bounds: point.explicitBounds ?? [],
                counts: (point.bucketCounts ?? []).map(Number),
              }
            : { value: Number(point.asInt ?? point.asDouble ?? 0) }),
        }));
      }),
    ),
  );
}

/**
 * Starts a receiver on a loopback port. `behave({path, body, number})` gives `{status, headers, body, delayMs}`, or
 * `{closeAfterBytes}` to cut the connection while the request comes in, or `{hang: true}` never to answer,
 * or `{drip: true}` to answer with a byte at a time for ever;
 * `{afterReading: (spans) => ({status})}` looks at what came first.
 */
export async function startOtlpReceiver(behave = () => ({})) {
  const requests = [];
  const listeners = new Set();
  const sockets = new Set();
  let number = 0;
  let behaviour = behave;
  const server = createServer(async (req, res) => {
    const n = ++number;
    const planned = { ...behaviour({ path: req.url, number: n, headers: req.headers }) };
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
    const isMetrics = req.url.endsWith('/v1/metrics');
    const entry = {
      number: n,
      path: req.url,
      headers: req.headers,
      status: 200,
      sizeBytes: raw.length,
      atMs: performance.now(),
      body,
      spans: isMetrics ? [] : decodeSpans(body, req.headers['content-type'] ?? ''),
      metrics: isMetrics ? decodeMetrics(body, req.headers['content-type'] ?? '') : [],
    };
    Object.assign(planned, planned.afterReading?.(entry.spans));
    entry.status = planned.status ?? 200;
    const answer = () => {
      requests.push(entry);
      if (planned.drip) {
        res.writeHead(entry.status);
        const timer = setInterval(() => res.write(' '), 10);
        res.on('close', () => clearInterval(timer));
      } else if (!planned.hang) res.writeHead(entry.status, planned.headers ?? {}).end(planned.body ?? '');
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
    /** Data points of the newest accepted metrics request. */
    metrics: () => requests.findLast((r) => r.status < 300 && r.metrics.length > 0)?.metrics ?? [],
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
