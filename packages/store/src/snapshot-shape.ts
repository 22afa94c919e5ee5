/** Stored documents to snapshots: parsed and checked, never cast. */
import { snapshotDigest, snapshotShapeError } from '@orangebox/codec';
import { OrangeboxError, SNAPSHOT_SCHEMA, type Snapshot } from '@orangebox/schema';
import { sha256 } from './hash.ts';

/**
 * The snapshot of a JSON document, shape and digest verified, derived views left out (readers make them anew).
 *
 * @param name what the document is called in messages.
 * @throws OrangeboxError `OBX_SNAPSHOT_NOT_A_RECORDING`, `OBX_SNAPSHOT_VERSION`, `OBX_SNAPSHOT_SHAPE`,
 * `OBX_SNAPSHOT_DIGEST`, `OBX_SNAPSHOT_BODY`.
 */
export function parseSnapshot(text: string, name: string): Snapshot {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new OrangeboxError('OBX_SNAPSHOT_NOT_A_RECORDING', `${name} is not JSON`, {
      cause,
      hint: 'a snapshot is one JSON document (or that, gzipped)',
    });
  }
  return verifySnapshot(value, name);
}

/** As {@link parseSnapshot}, of a value that is JSON already. */
export function verifySnapshot(value: unknown, name: string): Snapshot {
  const schema = isObject(value) ? value['schema'] : undefined;
  if (schema !== SNAPSHOT_SCHEMA) throw wrongSchema(schema, name);
  const fault = snapshotShapeError(value) ?? contradiction(value as Snapshot);
  if (fault !== undefined) throw shapeError(`${name} has another shape than a snapshot: ${fault}`);
  const { call: _call, request: _request, response: _response, ...kept } = value as Snapshot;
  const { toolExecutions: _tools, nextMessages: _next, ...snapshot } = kept;
  const digest = snapshotDigest(snapshot, sha256);
  if (digest !== snapshot.digest) {
    throw new OrangeboxError(
      'OBX_SNAPSHOT_DIGEST',
      `${name} does not have the digest it states: it is damaged or was changed`,
      { hint: 'fetch it again from the object store, or show the copy in the segments' },
    );
  }
  return snapshot;
}

function wrongSchema(schema: unknown, name: string): OrangeboxError {
  if (typeof schema === 'string' && /^orangebox\.snapshot\/\d+$/.test(schema)) {
    return new OrangeboxError(
      'OBX_SNAPSHOT_VERSION',
      `${name} is of format ${schema}; this release reads ${SNAPSHOT_SCHEMA}`,
      {
        hint: 'update orangebox to read it',
      },
    );
  }
  return new OrangeboxError('OBX_SNAPSHOT_NOT_A_RECORDING', `${name} is not a snapshot of Orangebox`, {
    hint: `snapshots start with {"schema":"${SNAPSHOT_SCHEMA}"`,
  });
}

function shapeError(message: string): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_SHAPE', message, { hint: 'fetch the snapshot again' });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the schema cannot say of a document that has its shape; undefined when all is well. */
function contradiction({ id, trace, time, exchanges }: Snapshot): string | undefined {
  if (id !== trace.spanId) return 'id and span id differ';
  // The key holds the date: 19 digits of nanoseconds reach to the year 2286.
  if (time.startUnixNano.length > 19) return 'it starts in no year of four digits';
  for (const { attempt, request, response } of exchanges) {
    for (const message of [request, response]) {
      const sum = message?.chunks.reduce((size, chunk) => size + chunk.sizeBytes, 0);
      if (message && sum !== message.body.sizeBytes)
        return `the chunks of attempt ${attempt} do not add up to the body`;
    }
  }
  return undefined;
}
