/** The JSON Schema of the snapshot document (draft 2020-12). The types are in `snapshot.ts`; a test holds both together. */
import type { JsonObject } from './snapshot.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 0 };
const nano = { type: 'string', pattern: '^(0|[1-9][0-9]{0,19})$' };
const hex64 = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const any = {};
const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });
const oneOf = (...values: string[]): JsonObject => ({ enum: values });
/** An object with required and optional members. Others may be there: later versions add some. */
const object = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
});

/** Definitions that the snapshot's schema and the schemas of segment records share. */
export const SNAPSHOT_DEFS: JsonObject = {
  headers: list({ type: 'array', prefixItems: [text, text], items: false, minItems: 2 }),
  trace: object(
    { traceId: { type: 'string', pattern: '^[0-9a-f]{32}$' }, spanId: ref('spanId'), sampled: flag },
    { parentSpanId: ref('spanId') },
  ),
  spanId: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  session: object({ id: text, seq: count, basis: oneOf('declared', 'inferred', 'ambiguous') }, { userId: text }),
  scope: list(object({ kind: oneOf('agent', 'step', 'tool'), name: text, id: text })),
  time: object({ startUnixNano: nano, endUnixNano: nano }),
  stage: oneOf('connect', 'request', 'response_head', 'response_body', 'done'),
  ending: oneOf(
    'complete',
    'connect_failed',
    'reset',
    'cut',
    'timeout',
    'caller_abort',
    'caller_stopped_reading',
    'process_exit',
    'process_died',
    'upgraded',
    'error',
  ),
  error: object({ stage: ref('stage'), type: text, message: text }, { code: text, stack: text }),
  fidelity: {
    oneOf: [
      object({ level: { const: 'exact' } }),
      object({
        level: { const: 'partial' },
        reason: oneOf('body_limit', 'memory_limit', 'process_died', 'content_redacted', 'no_storage', 'not_sampled'),
      }),
    ],
  },
  redactions: list(object({ where: text, token: text, count })),
  process: object(
    { pid: count, threadId: count, host: text, node: text, orangebox: text, serviceName: text },
    { resource: ref('strings'), packages: ref('strings'), gitRevision: text },
  ),
  strings: { type: 'object', additionalProperties: text },
  peer: object({ address: text, port: count }),
  metadata: { type: 'object' },
  chain: object({}, { before: text, after: text }),
  attemptsBasis: oneOf('retry_header', 'redirect', 'inferred'),
  client: oneOf('undici', 'http'),
  informational: list(object({ status: count, headers: ref('headers') })),
  truncated: object({}, { request: { const: true }, response: { const: true } }),
  storedDecoded: object({ contentEncoding: text, wireSizeBytes: count }),
  body: {
    oneOf: [
      object({ form: { const: 'empty' }, sizeBytes: { const: 0 } }),
      object({ form: { const: 'text' }, sizeBytes: count, text }),
      object({ form: { const: 'base64' }, sizeBytes: count, base64: text }),
      object({
        form: { const: 'delta' },
        sizeBytes: count,
        baseSha256: hex64,
        prefixBytes: count,
        suffixBytes: count,
        middle: ref('body'),
      }),
    ],
  },
  chunks: list(object({ sizeBytes: count, offsetNano: nano }, { delivery: count, wireSizeBytes: count })),
  request: object(
    { method: text, url: text, headers: ref('headers'), body: ref('body'), chunks: ref('chunks'), sent: flag },
    { derivedHeaders: list(count), trailers: ref('headers') },
  ),
  response: object(
    {
      status: count,
      statusText: text,
      headers: ref('headers'),
      headOffsetNano: nano,
      body: ref('body'),
      chunks: ref('chunks'),
    },
    {
      httpVersion: text,
      headDelivery: count,
      informational: ref('informational'),
      storedDecoded: ref('storedDecoded'),
      trailers: ref('headers'),
    },
  ),
  exchange: object(
    {
      attempt: count,
      startUnixNano: nano,
      endOffsetNano: nano,
      client: ref('client'),
      request: ref('request'),
      ending: ref('ending'),
      stage: ref('stage'),
    },
    {
      spanId: ref('spanId'),
      peer: ref('peer'),
      response: ref('response'),
      error: ref('error'),
      truncated: ref('truncated'),
    },
  ),
  tool: object(
    { basis: oneOf('wrapped', 'inferred'), name: text },
    { callId: text, arguments: text, result: text, error: ref('error'), askedBy: text },
  ),
};

/**
 * JSON Schema of {@link Snapshot}, published as `@orangebox/schema/snapshot.schema.json`. Derived members (`call`,
 * `request`, `response`, `toolExecutions`, `nextMessages`) are only required to be of the right JSON type: readers make
 * them anew.
 */
export const SNAPSHOT_JSON_SCHEMA: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'orangebox.snapshot/1',
  description: 'The immutable record of one LLM call, tool execution or other HTTP exchange.',
  ...object(
    {
      schema: { const: 'orangebox.snapshot/1' },
      id: ref('spanId'),
      kind: oneOf('llm', 'tool', 'http', 'state'),
      trace: ref('trace'),
      scope: ref('scope'),
      time: ref('time'),
      exchanges: list(ref('exchange')),
      process: ref('process'),
      fidelity: ref('fidelity'),
      redactions: ref('redactions'),
      digest: hex64,
    },
    {
      session: ref('session'),
      attemptsBasis: ref('attemptsBasis'),
      tool: ref('tool'),
      error: ref('error'),
      callSite: text,
      metadata: ref('metadata'),
      call: { type: 'object' },
      request: { type: 'object' },
      response: { type: 'object' },
      chain: ref('chain'),
      toolExecutions: list(any),
      nextMessages: list(any),
    },
  ),
  $defs: SNAPSHOT_DEFS,
};
