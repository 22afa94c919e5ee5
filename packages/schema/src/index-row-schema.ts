/** JSON Schema of a line of an index object. Readers pass over lines that do not fit. */
import { CALL_SUMMARY_SCHEMA } from './record-schema.ts';
import { SNAPSHOT_DEFS } from './snapshot-schema.ts';
import type { JsonObject } from './snapshot.ts';

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const object = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
});

/** JSON Schema of {@link IndexRow}. Members that later versions add may be there. */
export const INDEX_ROW_JSON_SCHEMA: JsonObject = {
  ...object(
    {
      key: text,
      kind: { enum: ['llm', 'tool', 'http', 'state'] },
      trace: ref('trace'),
      scope: ref('scope'),
      time: ref('time'),
      fidelity: ref('fidelity'),
      sizeBytes: count,
      digest: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      process: object({ pid: count, threadId: count, host: text, serviceName: text }),
    },
    {
      session: ref('session'),
      summary: CALL_SUMMARY_SCHEMA,
      tool: object(
        { name: text, basis: { enum: ['wrapped', 'inferred'] }, failed: { type: 'boolean' } },
        { callId: text, askedBy: text },
      ),
      error: object({ type: text, message: text }),
      chain: ref('chain'),
      attemptSpanIds: { type: 'array', items: ref('spanId') },
      request: object({ method: text, url: text }),
    },
  ),
  $defs: SNAPSHOT_DEFS,
};
