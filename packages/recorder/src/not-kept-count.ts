/** How many calls and tool runs sampling or the level let go: told in the segment now and then, not with each of them. */
import type { DroppedRecord } from '@orangebox/schema';
import { nowMs } from './timers.ts';

const TELL_MS = 10_000;

/** Counts them. */
export class NotKeptCount {
  readonly byKind: Record<string, number> = {};
  readonly #write: (record: DroppedRecord) => void;
  #count = 0;
  #told = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(write: (record: DroppedRecord) => void) {
    this.#write = write;
  }

  add(kind: string): void {
    this.byKind[kind] = (this.byKind[kind] ?? 0) + 1;
    this.#count++;
    if (Math.abs(nowMs() - this.#toldAtMs) >= TELL_MS) this.tell();
  }

  /** Writes the count, unless it stands there. */
  tell(): void {
    if (this.#told === this.#count) return;
    this.#told = this.#count;
    this.#toldAtMs = nowMs();
    this.#write({ type: 'dropped', reason: 'not_sampled', count: this.#count });
  }
}
