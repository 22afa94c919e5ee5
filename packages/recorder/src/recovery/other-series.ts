/** Whether there is anything to recover in a program's directory: most have it to themselves, and need none of the code for it. */
import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { parseSegmentFileName, SEGMENTS_DIRECTORY } from '@orangebox/schema';

/** Whether a directory holds segment files of another series than `own`. What can't be read holds none. */
export async function hasOtherSeries(dir: string, own: string | undefined): Promise<boolean> {
  const base = join(dir, SEGMENTS_DIRECTORY);
  for (const date of await namesIn(base)) {
    for (const name of await namesIn(join(base, date))) {
      if (parseSegmentFileName(name) && !(own !== undefined && name.startsWith(`${own}-`))) return true;
    }
  }
  return false;
}

function namesIn(directory: string): Promise<string[]> {
  return fs.readdir(directory).catch(() => []);
}
