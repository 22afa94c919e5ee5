/** Calls that only a span tells of: the store of payloads often has them a moment later, and shows more of them. */
import type { StoredEntry } from '@orangebox/store';
import { idOf } from './follow-store.ts';

/** Surroundings of {@link HeldCalls}. */
export interface HoldOptions {
  /** How long a promised call is held back; 0 where there is nothing to wait for. */
  waitMs: number;
  write: (entry: StoredEntry) => void;
}

/** Passes calls on, promised ones after a while, unless another place has shown them by then. */
export class HeldCalls {
  readonly #options: HoldOptions;
  readonly #held = new Map<string, { entry: StoredEntry; timer: NodeJS.Timeout }>();

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** Takes a call from a place. */
  offer(entry: StoredEntry): void {
    const { waitMs, write } = this.#options;
    const id = idOf(entry);
    const held = this.#held.get(id);
    if (entry.status !== 'promised' || waitMs === 0) {
      // One that runs may be promised already, and its end is what is waited for.
      if (held !== undefined && entry.status !== 'open') this.#drop(id);
      write(entry);
    } else if (held === undefined) {
      const timer = setTimeout(() => this.#release(id), waitMs);
      this.#held.set(id, { entry, timer });
    }
  }

  /** Writes what is held without waiting any longer. */
  end(): void {
    for (const id of [...this.#held.keys()]) this.#release(id);
  }

  #release(id: string): void {
    const held = this.#held.get(id);
    this.#drop(id);
    if (held !== undefined) this.#options.write(held.entry);
  }

  #drop(id: string): void {
    clearTimeout(this.#held.get(id)?.timer);
    this.#held.delete(id);
  }
}
