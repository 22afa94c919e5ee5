/** Work that the program must not wait for: one piece per turn, in order, without keeping the process alive. */

/** Runs pieces of work later, held until it is released. A piece that throws is told and passed over. */
export class DeferredQueue {
  readonly #onFault: (error: unknown) => void;
  #work: (() => void)[] = [];
  #isScheduled = false;
  #isHeld = true;
  #idle: (() => void)[] = [];

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  /** Pieces not yet run. */
  get size(): number {
    return this.#work.length;
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

  /** Runs everything now, unless it is held. */
  drainSync(): void {
    if (this.#isHeld) return;
    while (this.#work.length > 0) this.#runOne();
    this.#settleIdle();
  }

  /** Settles when there is nothing left to run. */
  idle(): Promise<void> {
    if (this.#work.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isHeld || this.#work.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#runOne();
      this.#settleIdle();
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

  #settleIdle(): void {
    if (this.#work.length > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
