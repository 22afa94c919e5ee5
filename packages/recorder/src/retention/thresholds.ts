/** From which sizes on a directory is swept, takes no bodies, and takes nothing; from which age on a file counts as closed. */

/** Sizes in bytes, for one bound. */
export interface Thresholds {
  /** Up to here anything is written: what is beyond belongs to the file that a sweep rewrites, or it could never make room. */
  recordBytes: number;
  /** Up to here bodies are written. */
  bodyBytes: number;
  /** From here on room is made. */
  triggerBytes: number;
  /** So much stays then. */
  targetBytes: number;
}

/** A file of another machine (shared volume) that nobody wrote to for this long is taken as closed. */
export const FOREIGN_IDLE_MS: number = 24 * 3600_000;
const ROTATE_BYTES = 16 * 1024 * 1024;
const MIN_ROTATE_BYTES = 4096;

/** Size from which on a file is followed by the next one. */
export function rotateBytesOf(dirBytes: number): number {
  return Math.max(MIN_ROTATE_BYTES, Math.min(ROTATE_BYTES, Math.floor(dirBytes / 8)));
}

/** The sizes that belong to a bound. */
export function thresholdsOf(dirBytes: number): Thresholds {
  const rotateBytes = rotateBytesOf(dirBytes);
  const triggerBytes = dirBytes - Math.max(3 * rotateBytes, Math.floor(dirBytes / 16));
  return {
    recordBytes: dirBytes - rotateBytes,
    bodyBytes: dirBytes - 2 * rotateBytes,
    triggerBytes,
    targetBytes: triggerBytes - Math.max(rotateBytes, Math.floor(dirBytes / 16)),
  };
}
