/** Whether anything was written to a directory of segments, without reading any of it. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SEGMENTS_DIRECTORY } from '@orangebox/schema';

/** A text that is another one after every write. */
export async function segmentStamp(directory: string): Promise<string> {
  const base = join(directory, SEGMENTS_DIRECTORY);
  let files = 0;
  let sizeBytes = 0;
  let newestMs = 0;
  for (const day of await namesIn(base)) {
    for (const name of await namesIn(join(base, day))) {
      const facts = await stat(join(base, day, name)).catch(() => undefined);
      if (facts === undefined) continue;
      files++;
      sizeBytes += facts.size;
      newestMs = Math.max(newestMs, facts.mtimeMs);
    }
  }
  return `${files} ${sizeBytes} ${newestMs}`;
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
