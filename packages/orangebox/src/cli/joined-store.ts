/** Several stores read as one: the local segments and the directory that ORANGEBOX_STORE names. */
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '@orangebox/store';

/** Asks each store in turn; what several have is listed once, from the first that can load it. */
export class JoinedStore implements SnapshotStore {
  readonly kind = 'segments';
  readonly location: string;
  readonly #stores: readonly SnapshotStore[];
  readonly #owner = new WeakMap<StoredEntry, SnapshotStore>();

  constructor(stores: readonly SnapshotStore[]) {
    this.#stores = stores;
    this.location = stores.map((store) => store.location).join(' and ');
  }

  async get(key: string): Promise<Snapshot | undefined> {
    return firstThat(this.#stores.map((store) => () => store.get(key)));
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    const [first] = this.#stores;
    const owner = this.#owner.get(entry) ?? first;
    if (owner === undefined) throw new TypeError('no store');
    const { key } = entry;
    const others = key === undefined ? [] : this.#stores.filter((store) => store !== owner);
    const snapshot = await firstThat([
      (): Promise<Snapshot | undefined> => owner.load(entry),
      ...others.map((store) => () => store.get(key ?? '')),
    ]);
    if (snapshot === undefined) throw new TypeError('a store that loads nothing');
    return snapshot;
  }

  async put(snapshot: Snapshot): Promise<string> {
    const [first] = this.#stores;
    if (first === undefined) throw new TypeError('no store');
    return first.put(snapshot);
  }

  async *list(filter: ListFilter = {}): AsyncIterable<StoredEntry> {
    const found = new Map<string, StoredEntry>();
    for (const store of this.#stores) {
      for await (const entry of store.list(filter)) {
        const id = `${entry.trace.traceId}/${entry.trace.spanId}`;
        const known = found.get(id);
        if (known !== undefined && (known.status === 'stored' || entry.status !== 'stored')) continue;
        found.set(id, entry);
        this.#owner.set(entry, store);
      }
    }
    const sign = filter.order === 'oldest' ? 1 : -1;
    const start = (entry: StoredEntry): bigint => BigInt(entry.time.startUnixNano);
    const sorted = [...found.values()].sort((a, b) => (start(a) < start(b) ? -sign : start(a) > start(b) ? sign : 0));
    yield* sorted.slice(0, filter.limit ?? sorted.length);
  }

  async delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    const sum: DeleteResult = { deleted: 0, kept: [], freedBytes: 0 };
    for (const store of this.#stores) {
      const result = await store.delete(selection);
      sum.deleted += result.deleted;
      sum.kept.push(...result.kept);
      sum.freedBytes += result.freedBytes;
    }
    return sum;
  }

  async problems(): Promise<StoreProblem[]> {
    return (await Promise.all(this.#stores.map((store) => store.problems()))).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }
}

/** The first snapshot that one of the stores gives: damage in one is no loss where another has the call too. */
async function firstThat(reads: readonly (() => Promise<Snapshot | undefined>)[]): Promise<Snapshot | undefined> {
  let fault: OrangeboxError | undefined;
  for (const read of reads) {
    try {
      const snapshot = await read();
      if (snapshot !== undefined) return snapshot;
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      fault ??= error;
    }
  }
  if (fault) throw fault;
  return undefined;
}
