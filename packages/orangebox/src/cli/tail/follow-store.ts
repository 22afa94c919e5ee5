/** Follows one store: what ended since the last look. */
import type { ListFilter, SnapshotStore, StoredEntry } from '@orangebox/store';
import { SeenCalls } from './seen-calls.ts';

/** How a store is followed. */
export interface FollowOptions {
  filter: ListFilter;
  nowMs: () => number;
  /** How far back an entry may have started that is new to the store: entries of other machines come late. */
  windowMs: number;
  /** Cheap to ask; the store itself is asked only when the answer is another than before. */
  stamp?: () => Promise<string>;
}

/** What a look found. */
export interface Look {
  /** Calls that ended, oldest first. */
  ended: StoredEntry[];
  /** Calls that began and still run. */
  begun: StoredEntry[];
}

/** How long a call that runs when the following begins may have run already. */
const RUNNING_MAX_MS = 24 * 3_600_000;
/** Running calls are looked for anew this often, so that the looks stay short. */
const RECOUNT_MS = 10_000;
/** A store is asked this often even where its stamp says that nothing was written. */
const LOOK_AT_LEAST_MS = 3_000;

/** Remembers what was there. */
export class StoreFollower {
  readonly #store: SnapshotStore;
  readonly #options: FollowOptions;
  readonly #ended = new SeenCalls();
  readonly #begun = new SeenCalls();
  #sinceUnixMs: number;
  #countedMs: number;
  #stamp: string | undefined;
  #lookedMs: number;

  constructor(store: SnapshotStore, options: FollowOptions) {
    this.#store = store;
    this.#options = options;
    this.#countedMs = options.nowMs();
    this.#lookedMs = this.#countedMs;
    this.#sinceUnixMs = this.#countedMs - options.windowMs;
  }

  /** Calls that began before this time are not asked for any more. */
  get sinceUnixMs(): number {
    return this.#sinceUnixMs;
  }

  /** How many calls it remembers. */
  get remembered(): number {
    return this.#ended.size + this.#begun.size;
  }

  /** Whether it has seen the end of a call. */
  knows(id: string): boolean {
    return this.#ended.has(id);
  }

  /** The newest calls that have ended, newest first; all that is there now is old from here on. */
  async begin(count: number): Promise<StoredEntry[]> {
    const { filter } = this.#options;
    this.#stamp = await this.#options.stamp?.();
    await this.#recount();
    const since = { sinceUnixMs: this.#sinceUnixMs };
    for await (const entry of this.#store.list(since)) if (entry.status !== 'open') this.#ended.add(idOf(entry), entry);
    const first: StoredEntry[] = [];
    if (count === 0) return first;
    const isElsewhere = this.#store.kind === 'bucket' || this.#store.kind === 'source';
    for await (const entry of this.#store.list({ ...(isElsewhere ? since : {}), ...filter })) {
      if (entry.status === 'open') continue;
      this.#ended.add(idOf(entry), entry);
      first.push(entry);
      if (first.length === count) break;
    }
    return first;
  }

  /** What came since the last look. */
  async look(): Promise<Look> {
    const look: Look = { ended: [], begun: [] };
    const { filter, stamp, nowMs } = this.#options;
    const now = await stamp?.();
    // A process that was killed writes nothing, and its calls have ended all the same.
    const isFresh = nowMs() - this.#lookedMs < LOOK_AT_LEAST_MS;
    if (now !== undefined && now === this.#stamp && isFresh) return look;
    this.#lookedMs = nowMs();
    // Every look begins where calls still ran at the last recount, and never after what may come late.
    if (nowMs() - this.#countedMs > RECOUNT_MS) await this.#recount();
    const sinceUnixMs = Math.max(this.#sinceUnixMs, filter.sinceUnixMs ?? 0);
    for await (const entry of this.#store.list({ ...filter, sinceUnixMs, order: 'oldest' })) {
      const id = idOf(entry);
      if (this.#ended.has(id)) continue;
      if (entry.status !== 'open') {
        this.#ended.add(id, entry);
        look.ended.push(entry);
      } else if (this.#begun.add(id, entry)) look.begun.push(entry);
    }
    for (const seen of [this.#ended, this.#begun]) seen.forgetBefore(this.#sinceUnixMs);
    // Only now: a look that failed is made again.
    this.#stamp = now;
    return look;
  }

  async #recount(): Promise<void> {
    const { nowMs, windowMs } = this.#options;
    this.#countedMs = nowMs();
    let oldest = this.#countedMs - windowMs;
    if (this.#store.kind === 'segments') {
      const running = { status: 'open', sinceUnixMs: this.#countedMs - RUNNING_MAX_MS };
      for await (const entry of this.#store.list(running)) {
        oldest = Math.min(oldest, Number(BigInt(entry.time.startUnixNano) / 1_000_000n));
      }
    }
    this.#sinceUnixMs = oldest;
  }
}

/** What a call is known by in every place. */
export function idOf(entry: StoredEntry): string {
  return `${entry.trace.traceId}/${entry.trace.spanId}`;
}
