/** How much a directory of recordings takes. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Sums regular files below a directory; what cannot be read counts nothing. Links are not followed. */
export async function directorySize(directory: string): Promise<{ sizeBytes: number; files: number }> {
  const sum = { sizeBytes: 0, files: 0 };
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || entry.name === '.gitignore') continue;
    const facts = await lstat(join(entry.parentPath, entry.name)).catch(() => undefined);
    if (facts === undefined) continue;
    sum.sizeBytes += facts.size;
    sum.files++;
  }
  return sum;
}
