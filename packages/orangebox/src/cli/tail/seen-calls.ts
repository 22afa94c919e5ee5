/** Which calls were seen, as long as they can come again: a command that runs for days must not remember all of them. */
import type { StoredEntry } from '@orangebox/store';

/** So many are remembered without looking for what can be forgotten. */
const SWEEP_MIN = 1_000;

/** Calls by what they are known by, with their start. */
export class SeenCalls {
  readonly #starts = new Map<string, number>();
  #sweepAt = SWEEP_MIN;

  get size(): number {
    return this.#starts.size;
  }

  has(id: string): boolean {
    return this.#starts.has(id);
  }

  /** Remembers it; false when it was remembered already. */
  add(id: string, { time }: Pick<StoredEntry, 'time'>): boolean {
    if (this.#starts.has(id)) return false;
    this.#starts.set(id, Number(BigInt(time.startUnixNano) / 1_000_000n));
    return true;
  }

  /** Forgets what began before then: nobody asks for it any more. */
  forgetBefore(unixMs: number): void {
    if (this.#starts.size < this.#sweepAt) return;
    for (const [id, startMs] of this.#starts) if (startMs < unixMs) this.#starts.delete(id);
    this.#sweepAt = Math.max(SWEEP_MIN, 2 * this.#starts.size);
  }
}
