/** What finders of secrets in a body share: the bytes under examination and what was found in them. */

/** Bytes to be replaced by a token. */
export interface Edit {
  start: number;
  end: number;
  token: string;
}

/** The bytes of a body that are not finished yet. Positions count from the first of them. */
export interface Pending {
  bytes: Uint8Array;
  /** Bytes of `bytes` that are filled. */
  size: number;
  /** Nothing follows. */
  final: boolean;
  /** Bytes right before the pending ones, as they came (up to {@link CONTEXT_BYTES}). */
  context(): Uint8Array;
}

/** How far back a finder may look before the pending bytes. */
export const CONTEXT_BYTES: number = 8 * 1024;

/** Values longer than this are replaced before their end is seen, so that nothing is held without bound. */
export const HELD_VALUE_MAX_BYTES: number = 64 * 1024;

/** Looks for one sort of secret. It is called whenever bytes were added, and goes on where it had stopped. */
export interface Finder {
  /**
   * Adds what it found to `edits` and returns the position before which all is decided: no secret of this finder can
   * begin or go on there any more.
   */
  scan(pending: Pending, edits: Edit[]): number;
  /** The first `sizeBytes` pending bytes were finished and are gone. */
  shift(sizeBytes: number): void;
}
