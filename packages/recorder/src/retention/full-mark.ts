/** A file that says that a directory was found full: processes that come later make room before they write. */
import { constants } from 'node:fs';
import { join } from 'node:path';
import type { SegmentFs } from '../segment-directory.ts';

/** Name of the file in `ORANGEBOX_DIR`. */
const FULL_MARK = '.full';
/** Two numbers. */
const MARK_MAX_BYTES = 64;

/** What stands in it. */
export interface FullMark {
  /** Bytes of all segments when it was written; undefined where it can't be read. */
  usedBytes: number | undefined;
  /** The bound of who wrote it. */
  dirBytes: number | undefined;
}

type MarkFs = Pick<SegmentFs, 'closeSync' | 'lstatSync' | 'openSync' | 'readSync' | 'unlinkSync' | 'writeFileSync'>;

/** The mark of a directory; undefined where there is none. Never throws. */
export function readFullMark(dir: string, fs: MarkFs): FullMark | undefined {
  const path = join(dir, FULL_MARK);
  try {
    if (!fs.lstatSync(path).isFile()) return undefined;
    const fd = fs.openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const bytes = Buffer.alloc(MARK_MAX_BYTES);
      const size = fs.readSync(fd, bytes, 0, bytes.length, 0);
      const [, used, bound] = /^(\d{1,15}) (\d{1,15})\n$/.exec(bytes.toString('latin1', 0, size)) ?? [];
      return used === undefined
        ? { usedBytes: undefined, dirBytes: undefined }
        : { usedBytes: Number(used), dirBytes: Number(bound) };
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Writes it, in the place of one that is there. Never throws. */
export function writeFullMark(dir: string, usedBytes: number, dirBytes: number, fs: MarkFs): void {
  const { O_CREAT, O_WRONLY, O_TRUNC, O_NOFOLLOW } = constants;
  try {
    const flag = O_CREAT | O_WRONLY | O_TRUNC | (O_NOFOLLOW ?? 0);
    // Node.js takes numbers here too; its types know names only.
    const options = { flag: flag as unknown as string, mode: 0o600 };
    fs.writeFileSync(join(dir, FULL_MARK), `${Math.max(0, Math.round(usedBytes))} ${dirBytes}\n`, options);
  } catch {
    // A directory that can't be written to is told of elsewhere.
  }
}

/** Removes it. Never throws. */
export function removeFullMark(dir: string, fs: MarkFs): void {
  try {
    fs.unlinkSync(join(dir, FULL_MARK));
  } catch {
    // Not there.
  }
}
