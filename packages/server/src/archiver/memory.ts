/**
 * Accounts of bytes. What a request brings and what checking it takes are bounded before they are allocated: one account
 * answers at once (requests are refused), the other lets wait (checks come one after the other).
 */

/** A sum of bytes with a bound. */
export interface ByteAccount {
  readonly capacityBytes: number;
  readonly usedBytes: number;
  /** Books bytes if they fit. */
  tryTake(bytes: number): boolean;
  give(bytes: number): void;
}

/** Makes an empty account. */
export function createByteAccount(capacityBytes: number): ByteAccount {
  let used = 0;
  return {
    capacityBytes,
    get usedBytes() {
      return used;
    },
    tryTake(bytes) {
      if (used + bytes > capacityBytes) return false;
      used += bytes;
      return true;
    },
    give(bytes) {
      used = Math.max(0, used - bytes);
    },
  };
}

/** What one request holds of an account; given back all at once. */
export class Booking {
  readonly #account: ByteAccount;
  #bytes = 0;

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  /** What it could hold if nobody else held anything. */
  get capacityBytes(): number {
    return this.#account.capacityBytes;
  }

  /** Books more; false when it does not fit. */
  tryTake(bytes: number): boolean {
    if (!this.#account.tryTake(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Gives some back before the end. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.#bytes);
    this.#bytes -= given;
    this.#account.give(given);
  }

  /** Gives back all that is left. */
  close(): void {
    this.give(this.#bytes);
  }
}

/** Lets work of some weight wait until there is room, first come first served. */
export interface Room {
  readonly capacity: number;
  readonly used: number;
  readonly waiting: number;
  /** Runs `work` when there is room for `weight`, which must not be above the capacity. */
  run<T>(weight: number, work: () => Promise<T>): Promise<T>;
}

/** Makes a room: of bytes for checks, of places for writes. */
export function createRoom(capacity: number): Room {
  let used = 0;
  const queue: { weight: number; start: () => void }[] = [];
  const advance = (): void => {
    for (;;) {
      const next = queue[0];
      if (next === undefined || used + next.weight > capacity) return;
      queue.shift();
      used += next.weight;
      next.start();
    }
  };
  return {
    capacity,
    get used() {
      return used;
    },
    get waiting() {
      return queue.length;
    },
    async run(weight, work) {
      if (weight > capacity) throw new RangeError('more than the room holds');
      await new Promise<void>((start) => {
        queue.push({ weight, start });
        advance();
      });
      try {
        return await work();
      } finally {
        used -= weight;
        advance();
      }
    },
  };
}
