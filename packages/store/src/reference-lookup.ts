/** Looking a reference up in a store, within the time that the store may need to be told. */
import { OrangeboxError, parseSnapshotKey } from '@orangebox/schema';
import { entryOfSnapshot } from './entry-of-snapshot.ts';
import type { ResolvedReference } from './reference-types.ts';
import { REF_MIN_LENGTH } from './short-refs.ts';
import type { ListFilter, SnapshotStore, StoredEntry } from './store.ts';

/** Lookups in one store. */
export class ReferenceLookup {
  readonly store: SnapshotStore;
  readonly #time: Pick<ListFilter, 'sinceUnixMs'>;
  #sinceRequired: OrangeboxError | undefined;

  constructor(store: SnapshotStore, sinceUnixMs: number | undefined) {
    this.store = store;
    this.#time = sinceUnixMs === undefined ? {} : { sinceUnixMs };
  }

  /** Entries by trace id or key: every store finds them without a time. */
  async byPlace(filter: ListFilter): Promise<StoredEntry[]> {
    return entriesOf(this.store, filter);
  }

  /** Entries by anything else. A store that needs a time has none without it; {@link refuseWithoutTime} then says so. */
  async within(filter: ListFilter): Promise<StoredEntry[]> {
    return (await this.unlessTimeIsNeeded(() => entriesOf(this.store, { ...filter, ...this.#time }))) ?? [];
  }

  /** What a lookup gives; undefined where the store must be told a time first. */
  async unlessTimeIsNeeded<T>(look: () => Promise<T>): Promise<T | undefined> {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof OrangeboxError) || error.code !== 'OBX_STORE_SINCE_REQUIRED') throw error;
      this.#sinceRequired ??= error;
      return undefined;
    }
  }

  /** Throws what a store without a time said, where no other way led to an entry. */
  refuseWithoutTime(): void {
    if (!this.#sinceRequired) return;
    throw new OrangeboxError('OBX_STORE_SINCE_REQUIRED', this.#sinceRequired.message, {
      hint: 'say how far back to look: --since 2h; a key, a trace id or <trace id>:<span id> needs no time',
      cause: this.#sinceRequired,
    });
  }
}

/** All entries of a filter, oldest first. */
export async function entriesOf(store: SnapshotStore, filter: ListFilter): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = [];
  for await (const entry of store.list({ order: 'oldest', ...filter })) entries.push(entry);
  return entries;
}

/** The entry of a key. @throws OrangeboxError `OBX_REF_UNKNOWN`, and what reading it throws. */
export async function findKey(key: string, store: SnapshotStore): Promise<ResolvedReference> {
  const { traceId = '', spanId = '' } = parseSnapshotKey(key) ?? {};
  const entries = await entriesOf(store, { keys: [key], traceId, spanId });
  if (entries.length > 0) return { kind: 'key', entries, store };
  // Not listed, but something may stand there: an object that no index names, or a fault that is the answer.
  const snapshot = await store.get(key);
  if (snapshot) {
    const entry = { ...entryOfSnapshot(snapshot, store.location), ref: spanId.slice(0, REF_MIN_LENGTH) };
    return { kind: 'key', entries: [entry], store };
  }
  throw new OrangeboxError('OBX_REF_UNKNOWN', `no snapshot stands under ${key} in ${store.location}`, {
    hint: 'it may not have arrived yet, or is in another store: see ORANGEBOX_DIR and ORANGEBOX_STORE',
  });
}
