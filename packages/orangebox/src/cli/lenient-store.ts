/**
 * A joined store while a reference is looked up: a short ref, a session id and a file are tried one after the other, and
 * a place that cannot be asked must not end that. What could not be asked is told when nothing was found.
 */
import type { OrangeboxError, Snapshot } from '@orangebox/schema';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '@orangebox/store';
import type { JoinedStore } from './joined-store.ts';
import { isPlaceFault } from './place-faults.ts';

/** Lists what can be listed and collects the faults. */
export class LenientStore implements SnapshotStore {
  readonly kind: SnapshotStore['kind'];
  readonly location: string;
  /** Faults of the places that could not be asked; the most telling first. */
  readonly faults: OrangeboxError[] = [];
  readonly #joined: JoinedStore;

  constructor(joined: JoinedStore) {
    this.kind = joined.kind;
    this.location = joined.location;
    this.#joined = joined;
  }

  get(key: string): Promise<Snapshot | undefined> {
    return this.#joined.get(key);
  }

  load(entry: StoredEntry): Promise<Snapshot> {
    return this.#joined.load(entry);
  }

  put(snapshot: Snapshot): Promise<string> {
    return this.#joined.put(snapshot);
  }

  async *list(filter: ListFilter = {}): AsyncIterable<StoredEntry> {
    if (this.#joined.isOne) {
      try {
        yield* this.#joined.list(filter);
      } catch (error) {
        if (!isPlaceFault(error)) throw error;
        this.#remember([error]);
      }
      return;
    }
    const { entries, faults } = await this.#joined.gather(filter);
    this.#remember(faults);
    if (entries.length > 0) this.#joined.note(faults);
    yield* entries;
  }

  #remember(faults: readonly OrangeboxError[]): void {
    this.faults.push(...faults.filter((fault) => !this.faults.includes(fault)));
  }

  delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    return this.#joined.delete(selection);
  }

  problems(): Promise<StoreProblem[]> {
    return this.#joined.problems();
  }

  close(): Promise<void> {
    return this.#joined.close();
  }
}
