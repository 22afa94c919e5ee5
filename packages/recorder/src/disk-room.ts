/** Whether there is room for bodies on a disk. */
import type { SegmentFs } from './segment-directory.ts';

const MIN_FREE_SHARE = 0.05;

/** At least 5 % of the disk of a path is free. */
export function hasDiskRoom(path: string, fs: SegmentFs): boolean {
  try {
    const { bavail, blocks } = fs.statfsSync(path);
    return blocks === 0 || bavail / blocks >= MIN_FREE_SHARE;
  } catch {
    // File systems without these figures are written to until they say no.
    return true;
  }
}
