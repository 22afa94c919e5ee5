/** Several stores read as one: the local recordings, the bucket, and what a trace backend knows. */
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import type {
  DeleteResult,
  ListFilter,
  SnapshotStore,
  StoredEntry,
  StoredStatus,
  StoreProblem,
} from '@orangebox/store';
import { isPlaceFault, isUnreachable } from './place-faults.ts';
import { type Window, WindowedStore } from './windowed-store.ts';

/** Surroundings of a joined store. */
export interface JoinedOptions {
  /** Told once when a place could not be asked while another had the answer. */
  onFault?: (fault: OrangeboxError) => void;
  /** Where new calls are kept; by default the first store. `null`: nowhere. */
  keep?: SnapshotStore | null;
}

/** Of several entries of one call, the one whose status stands first is listed. */
const STATUS_ORDER: { readonly [status in StoredStatus]: number } = {
  stored: 0,
  open: 1,
  promised: 2,
  lost: 3,
  not_kept: 4,
};

/** Asks all stores; what several have is listed once, from the first that can load it. */
export class JoinedStore implements SnapshotStore {
  readonly kind = 'segments';
  readonly location: string;
  readonly #stores: readonly SnapshotStore[];
  readonly #owner = new WeakMap<StoredEntry, SnapshotStore>();
  readonly #unreachable = new Map<SnapshotStore, OrangeboxError>();
  readonly #noted = new Set<string>();
  readonly #onFault: (fault: OrangeboxError) => void;
  readonly #keep: SnapshotStore | undefined;

  constructor(stores: readonly SnapshotStore[], options: JoinedOptions = {}) {
    this.#stores = stores;
    this.location = stores.map((store) => store.location).join(' and ');
    this.#onFault = options.onFault ?? ((): void => undefined);
    this.#keep = options.keep === null ? undefined : (options.keep ?? stores[0]);
  }

  /** Whether {@link put} has a place to put into. */
  get keeps(): boolean {
    return this.#keep !== undefined;
  }

  /** Whether it is one store only, which then lists without being gathered first. */
  get isOne(): boolean {
    return this.#stores.length === 1;
  }

  /** Whether some of it is behind the network. */
  get isRemote(): boolean {
    return this.#stores.some((store) => store instanceof WindowedStore);
  }

  /** Whether all of it is. */
  get isAllRemote(): boolean {
    return this.#stores.every((store) => store instanceof WindowedStore);
  }

  /** The times that stores elsewhere are searched in when nobody says other ones. */
  assume(window: Window): void {
    for (const store of this.#stores) if (store instanceof WindowedStore) store.assume(window);
  }

  /** A place that did not answer is not asked a second time, unless this is called in between. */
  retry(): void {
    this.#unreachable.clear();
  }

  async get(key: string): Promise<Snapshot | undefined> {
    return this.#first(this.#stores.map((store) => [store, () => store.get(key)]));
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    const [first] = this.#stores;
    const owner = this.#owner.get(entry) ?? first;
    if (owner === undefined) throw new TypeError('no store');
    const { key } = entry;
    const others = key === undefined ? [] : this.#stores.filter((store) => store !== owner);
    const snapshot = await this.#first([
      [owner, (): Promise<Snapshot | undefined> => owner.load(entry)],
      ...others.map((store): Read => [store, () => store.get(key ?? '')]),
    ]);
    if (snapshot === undefined) throw new TypeError('a store that loads nothing');
    return snapshot;
  }

  async put(snapshot: Snapshot): Promise<string> {
    if (this.#keep !== undefined) return this.#keep.put(snapshot);
    throw new OrangeboxError('OBX_STORE_READ_ONLY', `nothing is written to ${this.location}`, {
      hint: 'name a directory of recordings with --dir',
    });
  }

  async *list(filter: ListFilter = {}): AsyncIterable<StoredEntry> {
    const [only] = this.#stores;
    if (only !== undefined && this.#stores.length === 1) {
      yield* this.#listOne(only, filter);
      return;
    }
    const { entries, faults } = await this.gather(filter);
    const [fault, ...others] = faults;
    if (entries.length === 0 && fault !== undefined) {
      this.note(others);
      throw fault;
    }
    this.note(faults);
    yield* entries;
  }

  /** One store needs no joining: a million entries pass by without being held. */
  async *#listOne(store: SnapshotStore, filter: ListFilter): AsyncIterable<StoredEntry> {
    const before = this.#unreachable.get(store);
    if (before !== undefined) throw before;
    try {
      for await (const entry of store.list(filter)) {
        this.#owner.set(entry, store);
        yield entry;
      }
    } catch (error) {
      if (isUnreachable(error)) this.#unreachable.set(store, error);
      throw error;
    }
  }

  /** What all stores list, and the faults of those that could not; the most telling fault first. */
  async gather(filter: ListFilter): Promise<{ entries: StoredEntry[]; faults: OrangeboxError[] }> {
    const faults: OrangeboxError[] = [];
    const lists = await Promise.all(
      this.#stores.map(async (store) => {
        const list: StoredEntry[] = [];
        try {
          await this.#asked(store, async () => {
            for await (const entry of store.list(filter)) list.push(entry);
          });
        } catch (error) {
          if (!isPlaceFault(error)) throw error;
          faults.push(error);
        }
        return { store, list };
      }),
    );
    const found = new Map<string, StoredEntry>();
    for (const { store, list } of lists) {
      for (const entry of list) {
        const id = `${entry.trace.traceId}/${entry.trace.spanId}`;
        const known = found.get(id);
        if (known !== undefined && STATUS_ORDER[known.status] <= STATUS_ORDER[entry.status]) continue;
        found.set(id, entry);
        this.#owner.set(entry, store);
      }
    }
    const sign = filter.order === 'oldest' ? 1 : -1;
    const start = (entry: StoredEntry): bigint => BigInt(entry.time.startUnixNano);
    const sorted = [...found.values()].sort((a, b) => (start(a) < start(b) ? -sign : start(a) > start(b) ? sign : 0));
    // What would be found with --since is said before what is out of reach.
    faults.sort((a, b) => Number(isUnreachable(a)) - Number(isUnreachable(b)));
    return { entries: sorted.slice(0, filter.limit ?? sorted.length), faults };
  }

  /** Tells of faults, each once; a missing `--since` is none while another place has the answer. */
  note(faults: readonly OrangeboxError[]): void {
    for (const fault of faults) {
      if (fault.code === 'OBX_STORE_SINCE_REQUIRED' || this.#noted.has(fault.message)) continue;
      this.#noted.add(fault.message);
      this.#onFault(fault);
    }
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
    for (const store of this.#stores) await store.close();
  }

  /** Asks a store, once more only if it answered before. */
  async #asked<T>(store: SnapshotStore, ask: () => Promise<T>): Promise<T> {
    const before = this.#unreachable.get(store);
    if (before !== undefined) throw before;
    try {
      return await ask();
    } catch (error) {
      if (isUnreachable(error)) this.#unreachable.set(store, error);
      throw error;
    }
  }

  /**
   * The first snapshot; the first fault when none gives one, unless that says only that there is nothing: then a place
   * that was out of reach may have it.
   */
  async #first(reads: readonly Read[]): Promise<Snapshot | undefined> {
    const faults: OrangeboxError[] = [];
    for (const [store, read] of reads) {
      try {
        const snapshot = await this.#asked(store, read);
        if (snapshot === undefined) continue;
        this.note(faults.filter(isUnreachable));
        return snapshot;
      } catch (error) {
        if (!(error instanceof OrangeboxError)) throw error;
        faults.push(error);
      }
    }
    const isAbsence = (fault: OrangeboxError): boolean => /^OBX_SNAPSHOT_(?:LOST|NOT_ARRIVED)$/.test(fault.code);
    const fault = faults.find((f) => !isAbsence(f)) ?? faults[0];
    if (fault !== undefined) throw fault;
    return undefined;
  }
}

type Read = readonly [store: SnapshotStore, read: () => Promise<Snapshot | undefined>];
