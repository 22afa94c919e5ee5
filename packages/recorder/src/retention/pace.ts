/** Work beside the program: short slices of the main thread, with pauses in which the program goes on. */
import { afterMs, monotonicMs, nextTurn } from '../timers.ts';

const SLICE_MS = 1;
const PAUSE_MS = 4;
/** Where recordings are lost meanwhile: a busy program's turns are long, and each of them gives one slice. */
const URGENT_SLICE_MS = 5;

/** Measures slices and pauses between them. Its timers keep no process alive. */
export class Pace {
  readonly #sliceMs: number;
  readonly #pauseMs: number;
  readonly #clock: () => number;
  #measuredFrom: number;
  #since = monotonicMs();
  #longestMs = 0;
  #usedMs = 0;
  /** Recordings are lost as long as the work is not done. */
  isUrgent: () => boolean = () => false;

  /** @param clock what slices are measured with, where the time of the wall is that of other programs too */
  constructor(sliceMs: number = SLICE_MS, pauseMs: number = PAUSE_MS, clock: () => number = () => monotonicMs()) {
    this.#sliceMs = sliceMs;
    this.#pauseMs = pauseMs;
    this.#clock = clock;
    this.#measuredFrom = clock();
  }

  /** The longest slice so far. */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** Main-thread time of all slices. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** The slice is used up: {@link rest}. */
  get isOver(): boolean {
    return monotonicMs() - this.#since >= (this.isUrgent() ? URGENT_SLICE_MS : this.#sliceMs);
  }

  /** Lets the program go on for a while. */
  async rest(): Promise<void> {
    this.#note();
    await new Promise<void>((resolve) => {
      // In the next turn of a busy program. An idle one has none by itself, since this must not keep it alive.
      if (this.isUrgent()) nextTurn(resolve).unref();
      afterMs(this.#pauseMs, resolve).unref();
    });
    this.#resume();
  }

  /** Rests if the slice is used up. */
  async restIfOver(): Promise<void> {
    if (this.isOver) await this.rest();
  }

  /** Waits for the platform; what comes after it is a slice of its own. */
  async io<T>(work: Promise<T>): Promise<T> {
    this.#note();
    try {
      return await work;
    } finally {
      this.#resume();
    }
  }

  #resume(): void {
    this.#since = monotonicMs();
    this.#measuredFrom = this.#clock();
  }

  #note(): void {
    const ms = this.#clock() - this.#measuredFrom;
    this.#usedMs += ms;
    this.#longestMs = Math.max(this.#longestMs, ms);
  }
}
