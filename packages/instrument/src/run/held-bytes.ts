/** What went into a child process, or came out of it, as far as it is kept until it is written down. */

/** So much of the input, and of the output, of one child is on record. */
export const MAX_CHILD_BYTES: number = 16 * 1024 * 1024;

/** A bound. */
export class HeldBytes {
  #left: number;
  readonly #onBeyond: () => void;
  #isBeyond = false;

  /** `onBeyond` is called once, when something does not fit. */
  constructor(onBeyond: () => void, maxBytes: number = MAX_CHILD_BYTES) {
    this.#onBeyond = onBeyond;
    this.#left = maxBytes;
  }

  /** What of the bytes is kept; they may change afterwards. Nothing that comes behind a gap is. */
  keep(bytes: Uint8Array): Buffer | undefined {
    if (this.#isBeyond) return undefined;
    const kept = Buffer.from(bytes.subarray(0, this.#left));
    this.#left -= kept.length;
    if (kept.length === bytes.length) return kept;
    this.#isBeyond = true;
    this.#onBeyond();
    return kept.length > 0 ? kept : undefined;
  }
}
