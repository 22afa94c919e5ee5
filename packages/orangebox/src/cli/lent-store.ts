/** A store for a command that runs for days: what it remembers of faults and files must not outlive them. */
import type { LendStore } from '@orangebox/server';
import type { SnapshotStore } from '@orangebox/store';
import { JoinedStore } from './joined-store.ts';

/** A store that was opened, how often it is in use, and when it was opened. */
interface Opened {
  store: SnapshotStore;
  users: number;
  openedMs: number;
  isRetired: boolean;
}

/** Lends one store to whoever asks, and opens it anew after a while. */
export class LentStore {
  readonly #open: () => Promise<SnapshotStore>;
  readonly #maxAgeMs: number;
  #current: Promise<Opened> | undefined;

  /** @param maxAgeMs after which the next work gets a new one. */
  constructor(open: () => Promise<SnapshotStore>, maxAgeMs: number) {
    this.#open = open;
    this.#maxAgeMs = maxAgeMs;
  }

  /** Runs the work with the store. A store that is retired is closed after its last work. */
  async lend<T>(work: (store: SnapshotStore) => Promise<T>): Promise<T> {
    const opened = await this.#fresh();
    opened.users += 1;
    try {
      return await work(opened.store);
    } finally {
      opened.users -= 1;
      await closeUnused(opened);
    }
  }

  /** Closes the store, after its last work. */
  async close(): Promise<void> {
    const opened = await this.#current?.catch(() => undefined);
    this.#current = undefined;
    if (opened) await retire(opened);
  }

  async #fresh(): Promise<Opened> {
    const known = await this.#current?.catch(() => undefined);
    if (known && performance.now() - known.openedMs <= this.#maxAgeMs) return known;
    if (known && !known.isRetired) {
      this.#current = undefined;
      await retire(known);
    }
    this.#current ??= this.#open().then((store) => ({
      store,
      users: 0,
      openedMs: performance.now(),
      isRetired: false,
    }));
    try {
      return await this.#current;
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }
}

/** Lends what is opened anew again and again beside a store that was opened once, and stays open. */
export function lendBeside(own: SnapshotStore | undefined, lent: LentStore): LendStore {
  return (work) =>
    lent.lend((store) => work(own === undefined ? store : new JoinedStore([own, store], { keep: null })));
}

async function retire(opened: Opened): Promise<void> {
  opened.isRetired = true;
  await closeUnused(opened);
}

async function closeUnused(opened: Opened): Promise<void> {
  if (opened.isRetired && opened.users === 0) await opened.store.close();
}
