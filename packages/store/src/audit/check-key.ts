/** Opens the objects of one key: do they hold its snapshot, whole and unchanged, and nothing else? */
import { ENVELOPE_EXTENSION, OrangeboxError, PART_OBJECT_PATTERN, SNAPSHOT_OBJECT_NAME } from '@orangebox/schema';
import type { ObjectBucket } from '../objects/bucket.ts';
import { readEnvelopes } from '../objects/envelope.ts';
import { readObjects } from '../objects/object-reader.ts';
import { SNAPSHOT_MAX_BYTES } from '../objects/payload.ts';
import { normalKey } from '../safe-fs.ts';
import type { KeyGroup } from './key-groups.ts';

/** What the objects of a key are. */
export interface KeyCheck {
  state: 'stored' | 'incomplete' | 'corrupt';
  /** Why it is not `stored`. */
  code?: string;
  reason?: string;
  /** Facts of the snapshot, where it could be read. */
  facts?: SnapshotFacts;
  /** Objects that carry other keys' payloads, and whose. */
  mixed: { object: string; keys: string[] }[];
}

/** What of a snapshot decides in which range it lies and whether it has a span. */
export interface SnapshotFacts {
  startUnixNano: string;
  endUnixNano: string;
  sampled: boolean;
  sessionId?: string;
  serviceName: string;
}

/** Keys named per mixed object. */
const MIXED_KEYS_MAX = 100;

/**
 * Reads and verifies.
 *
 * @throws OrangeboxError `OBX_STORE_*` when the bucket cannot be read; a bad object is a result, not an error.
 */
export async function checkKey(bucket: ObjectBucket, group: KeyGroup): Promise<KeyCheck> {
  const mixed = new Map<string, Set<string>>();
  const names = new Map(group.objects.map(({ name }) => [name.slice(name.lastIndexOf('/') + 1), name]));
  const opened = new Set<string>();
  const read = async (object: string, maxBytes: number): Promise<Uint8Array | undefined> => {
    const name = names.get(object);
    if (name === undefined) return undefined;
    opened.add(object);
    const bytes = await bucket.read(name, maxBytes);
    if (bytes && object.endsWith(ENVELOPE_EXTENSION)) noteOthers(mixed, name, group.key, bytes);
    return bytes;
  };
  const result = (check: Omit<KeyCheck, 'mixed'>): KeyCheck => ({
    ...check,
    mixed: [...mixed].map(([object, keys]) => ({ object, keys: [...keys] })),
  });
  try {
    const snapshot = await readObjects(group.key, {
      nameOf: (object) => names.get(object) ?? `${group.key}/${object}`,
      list: () => Promise.resolve([...names.keys()]),
      read,
    });
    // An envelope beside an object that verifies has not been opened, and may hold others' payloads all the same.
    for (const object of names.keys()) {
      if (object.endsWith(ENVELOPE_EXTENSION) && !opened.has(object)) await read(object, SNAPSHOT_MAX_BYTES);
    }
    if (snapshot === undefined) {
      const what = [...names.keys()].slice(0, 3).join(', ');
      return result({
        state: 'corrupt',
        code: 'OBX_SNAPSHOT_NOT_A_RECORDING',
        reason: `none of its objects holds its snapshot: ${what}`,
      });
    }
    const { time, trace, session, process } = snapshot;
    return result({
      state: 'stored',
      facts: {
        startUnixNano: time.startUnixNano,
        endUnixNano: time.endUnixNano,
        sampled: trace.sampled,
        ...(session ? { sessionId: session.id } : {}),
        serviceName: process.serviceName,
      },
    });
  } catch (error) {
    if (!(error instanceof OrangeboxError) || error.code.startsWith('OBX_STORE_')) throw error;
    return result({
      state: error.code === 'OBX_SNAPSHOT_INCOMPLETE' ? 'incomplete' : 'corrupt',
      code: error.code,
      reason: error.message,
    });
  }
}

/** What the listing alone tells: objects of the right names, none of them empty, all parts of a set. */
export function checkListed(group: KeyGroup): KeyCheck {
  const sets = new Map<string, number>();
  for (const { name, sizeBytes } of group.objects) {
    const object = name.slice(name.lastIndexOf('/') + 1);
    if (sizeBytes > 0 && (object === SNAPSHOT_OBJECT_NAME || object.endsWith(ENVELOPE_EXTENSION)))
      return { state: 'stored', mixed: [] };
    const part = PART_OBJECT_PATTERN.exec(object);
    if (!part || sizeBytes === 0) continue;
    const set = `${part[1]}/${part[3]}`;
    const have = (sets.get(set) ?? 0) + 1;
    sets.set(set, have);
    if (have === Number(part[3])) return { state: 'stored', mixed: [] };
  }
  const [best] = [...sets].sort((a, b) => b[1] - a[1]);
  if (best !== undefined) {
    const reason = `${best[1]} of ${Number(best[0].split('/')[1])} parts of ${group.key} are there`;
    return { state: 'incomplete', code: 'OBX_SNAPSHOT_INCOMPLETE', reason, mixed: [] };
  }
  const names = group.objects.map(({ name }) => name.slice(name.lastIndexOf('/') + 1));
  const empty = group.objects.every(({ sizeBytes }) => sizeBytes === 0);
  return {
    state: 'corrupt',
    code: 'OBX_SNAPSHOT_NOT_A_RECORDING',
    reason: empty ? 'its objects are empty' : `none of its objects is a snapshot: ${names.slice(0, 3).join(', ')}`,
    mixed: [],
  };
}

function noteOthers(mixed: Map<string, Set<string>>, name: string, key: string, bytes: Uint8Array): void {
  for (const part of readEnvelopes(bytes)) {
    const other = normalKey(part.key);
    if (other === key) continue;
    const keys = mixed.get(name) ?? new Set();
    mixed.set(name, keys);
    if (keys.size < MIXED_KEYS_MAX) keys.add(other ?? part.key.slice(0, 120));
  }
}
