/** Contents of files, each once, by their SHA-256, beside the recordings. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DIRECTORY = 'files';
/** Content of a larger file is not kept. */
export const MAX_KEPT_BYTES: number = 1024 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;

/** SHA-256 in hex. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The contents of a directory of recordings. */
export class ContentStore {
  readonly #directory: string;
  #written = 0;

  constructor(recordings: string) {
    this.#directory = join(recordings, DIRECTORY);
  }

  /** Has the content there. @throws the system's errors */
  keep(sha256: string, bytes: Uint8Array): void {
    const path = join(this.#directory, sha256);
    if (sizeOf(path) === bytes.length) return;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    // No number drawn at random: those are the program's.
    const beside = join(this.#directory, `.${process.pid}-${this.#written++}-${sha256.slice(0, 16)}`);
    try {
      writeFileSync(beside, bytes, { mode: 0o600, flag: 'wx' });
      renameSync(beside, path);
    } catch (error) {
      rmSync(beside, { force: true });
      throw error;
    }
  }

  /** Removes all that is older and not named; gives the bytes that were freed. */
  removeOthers(named: ReadonlySet<string>, beforeUnixMs: number): number {
    let freedBytes = 0;
    for (const name of namesIn(this.#directory)) {
      const path = join(this.#directory, name);
      try {
        const stats = lstatSync(path);
        if (!stats.isFile() || named.has(name) || stats.mtimeMs >= beforeUnixMs) continue;
        rmSync(path);
        freedBytes += stats.size;
      } catch {
        // Somebody else removed it.
      }
    }
    return freedBytes;
  }

  /** The content, if it is there and is what its name says. */
  read(sha256: string): Buffer | undefined {
    if (!SHA256.test(sha256)) return undefined;
    const path = join(this.#directory, sha256);
    if ((sizeOf(path) ?? Number.POSITIVE_INFINITY) > MAX_KEPT_BYTES) return undefined;
    try {
      const bytes = readFileSync(path);
      return sha256Of(bytes) === sha256 ? bytes : undefined;
    } catch {
      return undefined;
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return lstatSync(directory).isDirectory() ? readdirSync(directory) : [];
  } catch {
    return [];
  }
}

/** Of a file; a link is none. */
function sizeOf(path: string): number | undefined {
  try {
    const stats = lstatSync(path);
    return stats.isFile() ? stats.size : undefined;
  } catch {
    return undefined;
  }
}
