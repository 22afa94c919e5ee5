/** Reads files of the working directory as far as a recording may know them. */
import { createHash, createHmac } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { MAX_KEPT_BYTES } from './content-store.ts';

/** Larger files are known by their size only. */
export const MAX_HASHED_BYTES: number = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

let buffer: Buffer | undefined;

/** What a file holds. */
export interface ReadContent {
  sizeBytes: number;
  sha256: string;
  /** The whole of it, where that is small enough to be kept. */
  bytes?: Buffer;
}

/** Reads a file; a link is not followed. Undefined where it cannot be read, or is too large. */
export function readContent(path: string, maxBytes: number = MAX_HASHED_BYTES): ReadContent | undefined {
  let fd: number;
  try {
    fd = openSync(path, FLAGS);
  } catch {
    return undefined;
  }
  try {
    // One for all: thousands of files are read one after the other.
    const shared = (buffer ??= Buffer.allocUnsafeSlow(READ_BYTES));
    const hash = createHash('sha256');
    const kept: Buffer[] = [];
    let sizeBytes = 0;
    for (;;) {
      const size = readSync(fd, shared, 0, READ_BYTES, null);
      if (size === 0) break;
      sizeBytes += size;
      if (sizeBytes > maxBytes) return undefined;
      const part = shared.subarray(0, size);
      hash.update(part);
      if (sizeBytes <= MAX_KEPT_BYTES) kept.push(Buffer.from(part));
    }
    const sha256 = hash.digest('hex');
    return { sizeBytes, sha256, ...(sizeBytes <= MAX_KEPT_BYTES ? { bytes: Buffer.concat(kept) } : {}) };
  } catch {
    // A file system may refuse what it opened.
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** What stands for the content of a file that may hold a secret: who has the recording alone cannot try contents. */
export function keyedContentHash(key: Uint8Array, sha256: string): string {
  return createHmac('sha256', key).update(`orangebox.file/1 ${sha256}`).digest('hex').slice(0, 32);
}
