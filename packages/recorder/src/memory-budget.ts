/** Counts the body bytes that open calls hold, against `ORANGEBOX_MEMORY_BYTES`. */

/** Someone who holds bytes and can let them go. */
export interface MemoryHolder {
  /** Bytes that count against the budget. */
  readonly heldBytes: number;
  /** Lets go of what it can: read back from the segment later, or given up. */
  letGo(): void;
}

/** The process' bound on body bytes in memory. */
export class MemoryBudget {
  readonly limitBytes: number;
  readonly #holders: Set<MemoryHolder> = new Set();
  #usedBytes = 0;
  #relieving = false;
  /** Times that holders had to let go. */
  reliefs = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Bytes held now. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  enter(holder: MemoryHolder): void {
    this.#holders.add(holder);
  }

  leave(holder: MemoryHolder): void {
    this.#holders.delete(holder);
  }

  /** Notes a change of held bytes; beyond the bound the largest holders let go until a fifth is free. */
  change(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes <= this.limitBytes || this.#relieving) return;
    this.#relieving = true;
    this.reliefs++;
    const target = this.limitBytes * 0.8;
    const largestFirst = [...this.#holders].sort((a, b) => b.heldBytes - a.heldBytes);
    for (const holder of largestFirst) {
      if (this.#usedBytes <= target || holder.heldBytes === 0) break;
      holder.letGo();
    }
    this.#relieving = false;
  }
}
