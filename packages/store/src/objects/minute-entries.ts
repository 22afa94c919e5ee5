/**
 * The entries of one minute of an index, of which nobody says how many it has: what no filter takes is never kept, of what
 * a limit takes only the best, and where nothing bounds the rest a number does.
 */
import { compareStarts, passesCoarse, passesEntry } from '../filter.ts';
import type { ListFilter, StoredEntry } from '../store.ts';

/** Entries of one minute that are given at most: 3,000 calls that start in each of its seconds are fewer. */
export const MINUTE_ENTRIES_MAX = 200_000;

/** Entries above a limit that are gathered before the worst are dropped: sorting costs more than holding them. */
const SLACK = 1_000;

/** Gathers the entries of one minute. A key that comes again takes the place of the first. */
export class MinuteEntries {
  readonly #filter: ListFilter;
  readonly #best: number | undefined;
  readonly #most: number;
  readonly #byKey: Map<string, StoredEntry> = new Map();
  #isCut = false;

  /** `filter.limit` is how many are still wanted. */
  constructor(filter: ListFilter, most: number = MINUTE_ENTRIES_MAX) {
    this.#filter = filter;
    this.#most = most;
    const { limit, text } = filter;
    // Whether a text stands in a snapshot is known only when it is opened: the best may not be among the taken.
    this.#best = limit !== undefined && limit <= most && text === undefined ? limit : undefined;
  }

  /** False when it takes no more: then there are more than are given. */
  add(entry: StoredEntry): boolean {
    const { startUnixNano } = entry.time;
    const { traceId, spanId } = entry.trace;
    if (!passesCoarse({ startUnixNano, traceId, spanId }, this.#filter) || !passesEntry(entry, this.#filter)) {
      return true;
    }
    const key = entry.key ?? '';
    if (this.#best === undefined && this.#byKey.size >= this.#most && !this.#byKey.has(key)) {
      this.#isCut = true;
      return false;
    }
    this.#byKey.set(key, entry);
    if (this.#best !== undefined && this.#byKey.size >= this.#best + SLACK) this.#trim(this.#best);
    return true;
  }

  /** There were more than are given. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** What is kept, in the order of its coming. */
  values(): StoredEntry[] {
    return [...this.#byKey.values()];
  }

  /** Drops all but the best; of one time the last ones are newer, as in a list. */
  #trim(best: number): void {
    const sorted = [...this.#byKey].sort(([, a], [, b]) => compareStarts(a.time, b.time));
    const worst = this.#filter.order === 'oldest' ? sorted.slice(best) : sorted.slice(0, sorted.length - best);
    for (const [key] of worst) this.#byKey.delete(key);
  }
}
