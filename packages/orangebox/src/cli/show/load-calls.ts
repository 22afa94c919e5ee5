/** Loads calls for showing, their views made anew. */
import { withViews } from '@orangebox/codec';
import { rehydrate } from '@orangebox/replay';
import type { Snapshot } from '@orangebox/schema';
import { decodeContent, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import { isPlaceFault } from '../place-faults.ts';
import type { ShownCall } from './shown-call.ts';

/** Earlier calls that are looked through for the one a call goes on from. */
export const LOOK_BACK = 24;

/** Loads one call. Rejects with `OrangeboxError` when its bytes are gone or damaged. */
export async function loadCall(store: SnapshotStore, entry: StoredEntry): Promise<ShownCall> {
  return shownCall(entry, withViews(await store.load(entry), decodeContent));
}

/** Loads one call with what came after it: its tools' results and the messages of the next call. */
export async function loadWithNext(store: SnapshotStore, entry: StoredEntry): Promise<ShownCall> {
  try {
    return shownCall(entry, (await rehydrate(entry, { store })).snapshot);
  } catch {
    // A damaged neighbour must not keep the call itself from being shown.
    return loadCall(store, entry);
  }
}

/** The calls of the session before this one, oldest first; those whose bytes are gone are left out. */
export async function loadEarlier(store: SnapshotStore, entry: StoredEntry): Promise<ShownCall[]> {
  if (entry.session === undefined || entry.kind !== 'llm') return [];
  const before: StoredEntry[] = [];
  const start = BigInt(entry.time.startUnixNano);
  try {
    for await (const other of store.list({ sessionId: entry.session.id, kinds: ['llm'] })) {
      const isThere = other.status === 'stored' || other.status === 'promised';
      if (BigInt(other.time.startUnixNano) >= start || !isThere) continue;
      before.push(other);
      if (before.length === LOOK_BACK) break;
    }
  } catch (error) {
    // A place that cannot be asked for the rest of the session must not keep the call itself from being shown.
    if (!isPlaceFault(error)) throw error;
  }
  const calls: ShownCall[] = [];
  for (const other of before.reverse()) {
    const call = await loadCall(store, other).catch(() => undefined);
    if (call !== undefined) calls.push(call);
  }
  return calls;
}

function shownCall(entry: StoredEntry, snapshot: Snapshot): ShownCall {
  const { ref, quarantined } = entry;
  return {
    ref,
    snapshot,
    ...(entry.status === 'open' ? { running: true } : {}),
    ...(quarantined === undefined ? {} : { quarantined }),
  };
}
