/** Snapshots in memory: for tests, and for files opened by name. */
import { OrangeboxError, type Snapshot, snapshotKey } from '@orangebox/schema';
import { entryOfSnapshot } from './entry-of-snapshot.ts';
import { collectSelected, selectEntries } from './listing.ts';
import { normalKey } from './safe-fs.ts';
import { verifySnapshot } from './snapshot-shape.ts';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry } from './store.ts';

/** Makes an empty store in memory. */
export function createMemoryStore(location = 'memory'): SnapshotStore {
  return new MemoryStore(location);
}

class MemoryStore implements SnapshotStore {
  readonly kind = 'memory';
  readonly location: string;
  /** JSON texts, so that nobody changes a kept snapshot through an object they still hold. */
  readonly #texts: Map<string, string> = new Map();
  readonly #entries: Map<string, StoredEntry> = new Map();

  constructor(location: string) {
    this.location = location;
  }

  async get(key: string): Promise<Snapshot | undefined> {
    const text = this.#texts.get(normalKey(key) ?? '');
    return text === undefined ? undefined : verifySnapshot(JSON.parse(text), key);
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    const snapshot = entry.key === undefined ? undefined : await this.get(entry.key);
    if (snapshot) return snapshot;
    throw new OrangeboxError('OBX_SNAPSHOT_LOST', `${this.location} has no snapshot of span ${entry.trace.spanId}`, {
      hint: 'it was deleted since it was listed',
    });
  }

  async put(snapshot: Snapshot): Promise<string> {
    const verified = verifySnapshot(structuredClone(snapshot), 'the snapshot to keep');
    const key = snapshotKey(verified);
    if (!this.#texts.has(key)) {
      this.#texts.set(key, JSON.stringify(verified));
      this.#entries.set(key, entryOfSnapshot(verified, this.location));
    }
    return key;
  }

  list(filter: ListFilter = {}): AsyncIterable<StoredEntry> {
    const candidates = [...this.#entries.values()].map((entry) => ({
      startUnixNano: entry.time.startUnixNano,
      traceId: entry.trace.traceId,
      spanId: entry.trace.spanId,
      read: async (): Promise<StoredEntry> => entry,
    }));
    return selectEntries(candidates, filter, (entry) => this.load(entry));
  }

  async delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    const result: DeleteResult = { deleted: 0, kept: [], freedBytes: 0 };
    for (const entry of await collectSelected(this, selection)) {
      const key = entry.key ?? '';
      result.freedBytes += this.#texts.get(key)?.length ?? 0;
      if (this.#texts.delete(key)) result.deleted += 1;
      this.#entries.delete(key);
    }
    return result;
  }

  async problems(): Promise<[]> {
    return [];
  }

  async close(): Promise<void> {
    this.#texts.clear();
    this.#entries.clear();
  }
}
