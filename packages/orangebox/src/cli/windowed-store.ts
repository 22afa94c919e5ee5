/**
 * A store elsewhere, which cannot be searched without saying since when: gives the window that `--since` names, or the
 * hours around a call that was found, to whatever is asked for without one.
 */
import type { Snapshot } from '@orangebox/schema';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '@orangebox/store';

/** Times between which calls started. */
export interface Window {
  sinceUnixMs: number;
  untilUnixMs?: number;
}

/** What goes before and after a call in its session is looked for this far from it. */
const AROUND_MS = 2 * 3_600_000;

/** The hours around a call. */
export function windowAround(entry: StoredEntry): Window {
  const startMs = Number(BigInt(entry.time.startUnixNano) / 1_000_000n);
  const endMs = Number(BigInt(entry.time.endUnixNano) / 1_000_000n);
  return { sinceUnixMs: startMs - AROUND_MS, untilUnixMs: Math.max(startMs, endMs) + AROUND_MS };
}

/** Passes everything on to the store; listings without times, keys or trace get the window. */
export class WindowedStore implements SnapshotStore {
  readonly kind: SnapshotStore['kind'];
  readonly location: string;
  readonly #store: SnapshotStore;
  #window: Window | undefined;

  constructor(store: SnapshotStore, window?: Window) {
    this.kind = store.kind;
    this.location = store.location;
    this.#store = store;
    this.#window = window;
  }

  /** Sets the window where none was named. */
  assume(window: Window): void {
    this.#window ??= window;
  }

  get(key: string): Promise<Snapshot | undefined> {
    return this.#store.get(key);
  }

  load(entry: StoredEntry): Promise<Snapshot> {
    return this.#store.load(entry);
  }

  put(snapshot: Snapshot): Promise<string> {
    return this.#store.put(snapshot);
  }

  list(filter: ListFilter = {}): AsyncIterable<StoredEntry> {
    const isBounded =
      filter.sinceUnixMs !== undefined ||
      filter.untilUnixMs !== undefined ||
      filter.keys !== undefined ||
      filter.traceId !== undefined;
    return this.#store.list(isBounded ? filter : { ...filter, ...this.#window });
  }

  delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    return this.#store.delete(selection);
  }

  problems(): Promise<StoreProblem[]> {
    return this.#store.problems();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
