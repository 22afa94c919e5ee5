/**
 * Files that are being written. They stand at the top of a directory store, so that those of killed writers are found by
 * one look: beside their places they would be anywhere among a million folders.
 */
import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TEMPORARY_PREFIX } from '../safe-fs.ts';

/** A file of several MiB is written in less, also to a slow disk. */
const OLD_MS = 3_600_000;

/** How often a process looks for those of others. */
const SWEEP_EVERY_MS = 3_600_000;

/** Only what {@link temporaryName} gives: files of anybody else are left alone. */
const OWN_NAME = new RegExp(`^${TEMPORARY_PREFIX.replace('.', '\\.')}[0-9a-f]{12}$`);

/** A name for a file that is being written. */
export function temporaryName(): string {
  return TEMPORARY_PREFIX + randomBytes(6).toString('hex');
}

/** Removes what killed writers left at the top of a directory: at the first call, and then once an hour. Never rejects. */
export function createSweeper(directory: string, nowMs: () => number = Date.now): () => Promise<void> {
  let lastMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (nowMs() - lastMs < SWEEP_EVERY_MS) return;
    lastMs = nowMs();
    try {
      for (const name of await readdir(directory)) {
        if (!OWN_NAME.test(name)) continue;
        const path = join(directory, name);
        const facts = await lstat(path);
        if (facts.isFile() && nowMs() - facts.mtimeMs > OLD_MS) await rm(path, { force: true });
      }
    } catch {
      // Gone meanwhile, or of another user: the next look finds what is left. A write does not depend on it.
    }
  };
}
