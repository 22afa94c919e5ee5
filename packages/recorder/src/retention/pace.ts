/** Work beside the program: short slices of the main thread, with pauses in which the program goes on. */
import { afterMs } from '../timers.ts';

const SLICE_MS = 1.5;
const PAUSE_MS = 4;

/** Measures slices and pauses between them. Its timers keep no process alive. */
export class Pace {
  readonly #sliceMs: number;
  readonly #pauseMs: number;
  #since = performance.now();
  #longestMs = 0;
  #usedMs = 0;

  constructor(sliceMs: number = SLICE_MS, pauseMs: number = PAUSE_MS) {
    this.#sliceMs = sliceMs;
    this.#pauseMs = pauseMs;
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
    return performance.now() - this.#since >= this.#sliceMs;
  }

  /** Lets the program go on for a while. */
  async rest(): Promise<void> {
    this.#note();
    await new Promise<void>((resolve) => void afterMs(this.#pauseMs, resolve).unref());
    this.#since = performance.now();
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
      this.#since = performance.now();
    }
  }

  #note(): void {
    const ms = performance.now() - this.#since;
    this.#usedMs += ms;
    this.#longestMs = Math.max(this.#longestMs, ms);
  }
}
