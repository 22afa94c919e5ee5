/** When answers are given where they are not to come at once: after as much time as when they were recorded, or a part of it. */
import { platform } from './platform.ts';
import type { RunEvent } from './run-events.ts';

const NANO_PER_MS = 1e6;

/** Time runs from the first question on. */
export class RecordedPace {
  readonly #startUnixMs: number;
  readonly #speed: number;
  readonly #beganMs: number = platform.nowMs();

  /** @param speed how many times faster than recorded */
  constructor(startUnixNano: string, speed: number) {
    this.#startUnixMs = Number(startUnixNano) / NANO_PER_MS;
    this.#speed = speed;
  }

  /**
   * How long an event has to wait still, in milliseconds; 0 when it may be given. Timers and what comes of child processes, threads and tools have no
   * time on record: they come as soon as what stands before them has come.
   */
  waitMs(event: RunEvent): number {
    const atMs = timeOf(event);
    if (atMs === undefined) return 0;
    const dueMs = this.#beganMs + (atMs - this.#startUnixMs) / this.#speed;
    return Math.max(0, dueMs - platform.nowMs());
  }
}

/** When an answer, or a part of it, came, in milliseconds since the epoch. */
function timeOf(event: RunEvent): number | undefined {
  if (!('exchange' in event)) return undefined;
  const { start, responseHead, end } = event.exchange;
  const offset =
    event.kind === 'chunk'
      ? event.chunk.offsetNano
      : Number((event.kind === 'head' ? responseHead : end)?.offsetNano ?? Number.NaN);
  const atMs = Number(start.startUnixNano) / NANO_PER_MS + offset / NANO_PER_MS;
  return Number.isFinite(atMs) ? atMs : undefined;
}
