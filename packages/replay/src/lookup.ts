/** From whatever names a recorded call to its snapshot. */
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { resolveOne, resolveReference, type SnapshotStore, type StoredEntry, verifySnapshot } from '@orangebox/store';
import type { LookupOptions, Reference } from './types.ts';

/** A call that was found. */
export interface FoundCall {
  /** Digest verified. */
  snapshot: Snapshot;
  /** Where it came from; absent for a snapshot at hand without a store. */
  store: SnapshotStore | undefined;
}

/** The one call a reference names. `OBX_REF_*`, `OBX_SNAPSHOT_*`. */
export async function findCall(reference: Reference, options: LookupOptions): Promise<FoundCall> {
  if (typeof reference === 'string') {
    const { entry, store } = await resolveOne(reference, { ...options, store: storeOf(options) });
    return { snapshot: await store.load(entry), store };
  }
  if (isSnapshot(reference)) return { snapshot: verifySnapshot(reference, 'the given snapshot'), store: options.store };
  const store = storeOf(options);
  return { snapshot: await store.load(reference), store };
}

/** The calls a reference names, oldest first: one, or all of a session or trace. */
export async function findCalls(reference: Reference, options: LookupOptions): Promise<Snapshot[]> {
  if (typeof reference !== 'string') return [(await findCall(reference, options)).snapshot];
  const { entries, store } = await resolveReference(reference, { ...options, store: storeOf(options) });
  const snapshots: Snapshot[] = [];
  for (const entry of entries) {
    if (entry.kind === 'llm' || entry.kind === 'http') snapshots.push(await store.load(entry));
  }
  return snapshots;
}

function storeOf(options: LookupOptions): SnapshotStore {
  if (options.store) return options.store;
  throw new OrangeboxError('OBX_REPLAY_NO_STORE', 'a reference needs a store to be looked up in', {
    hint: 'pass {store: await openStore(directory)}, or a snapshot itself',
  });
}

function isSnapshot(reference: StoredEntry | Snapshot): reference is Snapshot {
  return 'exchanges' in reference;
}
