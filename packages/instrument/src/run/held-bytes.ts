/** What went into a child process, came out of it, or came by standard input, as far as it is kept. */

/** So much of the input, and of the output, of one child is on record, and of standard input. */
export const MAX_CHILD_BYTES: number = 16 * 1024 * 1024;

/** In so many pieces at most: a piece of a byte takes a hundred. */
export const MAX_CHILD_PIECES: number = 100_000;

/** A bound. */
export class HeldBytes {
  #left: number = MAX_CHILD_BYTES;
  #piecesLeft: number = MAX_CHILD_PIECES;
  readonly #onBeyond: (bound: string) => void;
  #isBeyond = false;

  /** `onBeyond` is called once, when something does not fit. */
  constructor(onBeyond: (bound: string) => void) {
    this.#onBeyond = onBeyond;
  }

  /** What of the bytes is kept; they may change afterwards. Nothing that comes behind a gap is. */
  keep(bytes: Uint8Array): Buffer | undefined {
    if (this.#isBeyond) return undefined;
    if (this.#piecesLeft-- === 0) return this.#beyond(`${MAX_CHILD_PIECES.toLocaleString('en-US')} pieces`);
    const kept = Buffer.from(bytes.subarray(0, this.#left));
    this.#left -= kept.length;
    if (kept.length === bytes.length) return kept;
    this.#beyond(`${MAX_CHILD_BYTES / 1024 / 1024} MiB`);
    return kept.length > 0 ? kept : undefined;
  }

  #beyond(bound: string): undefined {
    this.#isBeyond = true;
    this.#onBeyond(bound);
  }
}
