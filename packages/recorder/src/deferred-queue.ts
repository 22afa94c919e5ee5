/** Work that the program must not wait for: little of it per turn, in order, without keeping the process alive. */
import { nextTurn, nowMs } from './timers.ts';

/**
 * Share of what waits that is done in one turn: one piece where little waits. A program that ends more calls per turn than one
 * would else leave more and more of them waiting, with all that they hold.
 */
const SHARE_PER_TURN = 0.25;

/** Runs pieces of work later, held until it is released. A piece that throws is told and passed over. */
export class DeferredQueue {
  readonly #onFault: (error: unknown) => void;
  #work: (() => void)[] = [];
  #isScheduled = false;
  #isHeld = true;

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  push(piece: () => void): void {
    this.#work.push(piece);
    this.#schedule();
  }

  /** Work may run from now on: what it needs has been loaded. */
  release(): void {
    this.#isHeld = false;
    this.#schedule();
  }

  get isEmpty(): boolean {
    return this.#work.length === 0;
  }

  /** Runs now what is there, unless it is held; after `untilMs` the rest is left. */
  drainSync(untilMs: number): void {
    if (this.#isHeld) return;
    while (this.#work.length > 0 && nowMs() < untilMs) this.#runOne();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isHeld || this.#work.length === 0) return;
    this.#isScheduled = true;
    nextTurn(() => {
      this.#isScheduled = false;
      for (let left = Math.ceil(this.#work.length * SHARE_PER_TURN); left > 0; left--) this.#runOne();
      this.#schedule();
    }).unref();
  }

  #runOne(): void {
    const piece = this.#work.shift();
    try {
      piece?.();
    } catch (error) {
      this.#onFault(error);
    }
  }
}
