/** JSON Schemas of the JSON records of a segment, by record type. Readers count what does not fit as damage. */
import { SNAPSHOT_DEFS } from './snapshot-schema.ts';
import type { RecordTypeName } from './segment.ts';
import type { JsonObject } from './snapshot.ts';

const text = { type: 'string' };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 0 };
const exchangeId = { type: 'integer', minimum: 1 };
const nano = { type: 'string', pattern: '^(0|[1-9][0-9]{0,19})$' };
const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });
const object = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
});

const textMap: JsonObject = { type: 'object', additionalProperties: text };
const outputDigest: JsonObject = object({ sha256: text, sizeBytes: count }, { head: text });

const fileState: JsonObject = object(
  { path: text, type: { enum: ['file', 'link', 'directory'] }, mode: count },
  { sizeBytes: count, sha256: text, keyedHash: text, target: text },
);

/** Schema of {@link CallSummary}; it refers to the definitions of the snapshot's. */
export const CALL_SUMMARY_SCHEMA: JsonObject = object(
  { ending: ref('ending'), attempts: count, stream: flag },
  {
    operation: text,
    provider: text,
    api: text,
    model: text,
    status: count,
    inputTokens: { type: 'number' },
    outputTokens: { type: 'number' },
    timeToFirstChunkNano: nano,
    toolCalls: list(object({ name: text }, { id: text })),
    finishReasons: list(text),
  },
);

const SHAPES: { [type in Exclude<RecordTypeName, 'requestChunk' | 'responseChunk'>]: JsonObject } = {
  segmentStart: object({ process: ref('process'), startUnixNano: nano, n: count }, { pidNamespace: text }),
  exchangeStart: object(
    {
      exchangeId,
      kind: { enum: ['llm', 'http'] },
      trace: ref('trace'),
      scope: ref('scope'),
      startUnixNano: nano,
      client: ref('client'),
      method: text,
      url: text,
    },
    {
      session: object({ id: text }, { userId: text }),
      metadata: ref('metadata'),
      callSite: text,
      redactions: ref('redactions'),
      seq: count,
    },
  ),
  requestHead: object(
    { exchangeId, headers: ref('headers') },
    { derivedHeaders: list(count), peer: ref('peer'), redactions: ref('redactions') },
  ),
  requestEnd: object({ exchangeId, offsetNano: nano }, { trailers: ref('headers'), seq: count }),
  responseHead: object(
    { exchangeId, status: count, statusText: text, headers: ref('headers'), offsetNano: nano, delivery: count },
    { httpVersion: text, informational: ref('informational'), redactions: ref('redactions') },
  ),
  exchangeEnd: object(
    { exchangeId, offsetNano: nano, ending: ref('ending'), stage: ref('stage') },
    {
      error: ref('error'),
      trailers: ref('headers'),
      storedDecoded: ref('storedDecoded'),
      truncated: ref('truncated'),
      redactions: ref('redactions'),
      delivery: count,
    },
  ),
  callEnd: object(
    {
      kind: { enum: ['llm', 'http'] },
      exchangeIds: list(exchangeId),
      trace: ref('trace'),
      time: ref('time'),
      fidelity: ref('fidelity'),
      digest: text,
      sizeBytes: count,
      summary: CALL_SUMMARY_SCHEMA,
      spans: list({}),
    },
    {
      attemptsBasis: ref('attemptsBasis'),
      attemptSpanIds: list(ref('spanId')),
      session: ref('session'),
      chain: ref('chain'),
      error: ref('error'),
      key: text,
      spansBy: { enum: ['orangebox', 'application'] },
    },
  ),
  tool: object(
    {
      trace: ref('trace'),
      scope: ref('scope'),
      time: ref('time'),
      tool: ref('tool'),
      fidelity: ref('fidelity'),
      redactions: ref('redactions'),
      digest: text,
      sizeBytes: count,
      spans: list({}),
    },
    {
      session: ref('session'),
      metadata: ref('metadata'),
      error: ref('error'),
      key: text,
      spansBy: { enum: ['orangebox', 'application'] },
    },
  ),
  shipped: object({ key: text }),
  dropped: object({ reason: text, count }, { message: text }),
  segmentEnd: object({ endUnixNano: nano, rotated: flag }),
  quarantined: object({ key: text, reason: text, atUnixNano: nano }),
  spansSent: object({ spanIds: list(ref('spanId')) }),
  forgotten: object({ exchangeIds: list(exchangeId) }),
  runStart: object(
    {
      runId: text,
      threadId: count,
      argv: list(text),
      execArgv: list(text),
      execPath: text,
      cwdHash: text,
      node: text,
      platform: text,
      pid: count,
      ppid: count,
      hostname: text,
      environment: object({ values: textMap, hashes: textMap }),
      startUnixNano: nano,
    },
    {
      parentRunId: text,
      entryDigest: text,
      commandHash: text,
      cwd: text,
      stdin: { enum: ['terminal', 'pipe', 'file'] },
    },
  ),
  draws: object({ draws: list(object({ seq: count, source: text, value: {} }, { at: text })) }),
  timerFired: object(
    { seq: count, timerId: count, kind: { enum: ['timeout', 'interval', 'immediate'] }, delayMs: { type: 'number' } },
    { at: text },
  ),
  notReplayable: object({ what: text, count }),
  child: object({
    seq: count,
    file: text,
    argv: list(text),
    cwd: text,
    sync: flag,
    pid: count,
    stdin: text,
    events: list(
      object(
        {
          seq: count,
          kind: { enum: ['spawn', 'error', 'stdout', 'stderr', 'stdout_end', 'stderr_end', 'exit', 'close'] },
        },
        {
          bytes: text,
          code: { type: ['integer', 'null'] },
          signal: { type: ['string', 'null'] },
          error: object({ code: text, message: text }, { syscall: text }),
        },
      ),
    ),
  }),
  runEnd: object(
    { seq: count, exitCode: { type: 'integer' }, stdout: outputDigest, stderr: outputDigest },
    { signal: text },
  ),
  runFiles: object({ files: list(fileState) }, { signature: text }),
  filesChanged: object(
    { changes: list(object({ kind: { enum: ['created', 'changed', 'deleted'] }, file: fileState })) },
    { child: count, signature: text },
  ),
  threadEvent: object({ seq: count, kind: { enum: ['message', 'online', 'error', 'exit'] } }, { worker: count }),
  workDone: object({ done: list(object({ seq: count, kind: text, id: count })) }),
  toolRun: object(
    {
      seq: count,
      endSeq: count,
      name: text,
      frameId: text,
      isAsync: flag,
      outcome: { enum: ['returned', 'threw', 'other'] },
    },
    {
      args: text,
      within: list(text),
      value: text,
      error: object({ name: text, message: text }, { members: text, hidden: text }),
      notReplayable: list(object({ what: text, count })),
      timers: list(count),
      draws: list(count),
      children: list(count),
    },
  ),
  input: object({
    pieces: list(
      object(
        { seq: count, bytes: text },
        { isEnd: { const: true }, by: { enum: ['readSync', 'readFileSync'] }, errorCode: text },
      ),
    ),
  }),
};

/** A record type whose content is JSON. */
export type JsonRecordTypeName = keyof typeof SHAPES;

/** JSON Schema of the content of each JSON record type. */
export const RECORD_JSON_SCHEMAS: { readonly [type in JsonRecordTypeName]: JsonObject } = withDefs(SHAPES);

/** Gives each schema the definitions it refers to, so that it stands alone. */
function withDefs(shapes: typeof SHAPES): typeof SHAPES {
  const out = { ...shapes };
  for (const type of Object.keys(shapes) as JsonRecordTypeName[]) out[type] = { ...shapes[type], $defs: SNAPSHOT_DEFS };
  return out;
}
