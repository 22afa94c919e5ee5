/**
 * Takes calls out of a closed file: it is written anew without their frames, beside its place, and renamed there. Who has
 * the old one open goes on reading it.
 */
import { randomBytes } from 'node:crypto';
import * as fsNow from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { encodeRecord } from '@orangebox/codec';
import { SEGMENT_HEADER_BYTES } from '@orangebox/schema';
import { BESIDE_PREFIX } from './directory-files.ts';
import { walkFrames, type WalkedFrame } from './frame-walk.ts';
import type { MovedRange } from './moved-records.ts';
import type { Pace } from './pace.ts';
import { openPlain, type ScannedFile } from './series-scan.ts';

/** What is done with a frame. `plain`: it stays where others do, and is not worth a file. */
export type FrameVerdict = 'goes' | 'plain' | 'stays';

/** What a rewriting needs to know. */
export interface RewriteJob {
  file: ScannedFile;
  verdict(frame: WalkedFrame): FrameVerdict;
  /** Exchanges that readers have to pass over until the other files of their call were rewritten too. */
  forget: readonly number[];
  /** Bytes that the directory has room for. */
  roomBytes: number;
  /** The directory's files have so many bytes more, or fewer. */
  grew(bytes: number): void;
  /** Whether this sweep still has the right to change the directory. */
  mayChange(): boolean;
  /** In the turn in which the file is replaced. */
  onReplaced(moved: readonly MovedRange[]): void;
}

/** What became of a file. `left`: as it was. */
export interface Rewritten {
  outcome: 'left' | 'rewritten' | 'removed';
  freedBytes: number;
  /** Of the file that is there now; set when it was rewritten. */
  sizeBytes: number;
  /** Only kept for what it says of exchanges in other files. */
  isSpare: boolean;
}

/** The file system that a rewriting writes through. */
export interface RewriteFs {
  open: typeof fs.open;
  rename(from: string, to: string): void;
}

/** The real one. */
export const rewriteFs: RewriteFs = { open: fs.open, rename: (from, to) => fsNow.renameSync(from, to) };

/** Read and written at a time, whatever the number of ranges: each waits for a turn of the program. */
const COPY_BYTES = 512 * 1024;
const LEFT: Rewritten = { outcome: 'left', freedBytes: 0, sizeBytes: 0, isSpare: false };

/** Rewrites or removes a file. @throws the file system's error; the file is then as it was */
export async function rewriteFile(job: RewriteJob, pace: Pace, through: RewriteFs = rewriteFs): Promise<Rewritten> {
  const { file } = job;
  const handle = await openPlain(file.path, pace);
  if (!handle) return LEFT;
  try {
    const kept = await keptRanges(handle, job, pace);
    if (!kept || !isUnchanged(file)) return LEFT;
    const isEmpty = !kept.hasStaying && job.forget.length === 0;
    if (isEmpty) {
      if (!job.mayChange()) return LEFT;
      await pace.io(fs.unlink(file.path));
      job.grew(-file.sizeBytes);
      return { outcome: 'removed', freedBytes: file.sizeBytes, sizeBytes: 0, isSpare: false };
    }
    if (!kept.hasGoing && job.forget.length === 0) return LEFT;
    const forgotten =
      job.forget.length === 0
        ? new Uint8Array(0)
        : encodeRecord({ type: 'forgotten', exchangeIds: [...job.forget] }, crc32);
    const { moved, sizeBytes } = movedRanges(kept.ranges, forgotten.length);
    if (sizeBytes > job.roomBytes) return LEFT;
    // Until the one or the other is gone, both take room.
    let besideBytes = sizeBytes;
    job.grew(besideBytes);
    try {
      if (!(await writeBeside(job, { handle, moved, forgotten }, pace, through))) return LEFT;
      besideBytes = file.sizeBytes;
    } finally {
      job.grew(-besideBytes);
    }
    const isSpare = !kept.hasStaying;
    return { outcome: 'rewritten', freedBytes: file.sizeBytes - sizeBytes, sizeBytes, isSpare };
  } finally {
    await pace.io(handle.close());
  }
}

interface Kept {
  ranges: { from: number; to: number }[];
  hasGoing: boolean;
  hasStaying: boolean;
}

/** What stays of a file; undefined when it is not what it was when it was looked at. */
async function keptRanges(handle: fs.FileHandle, { file, verdict }: RewriteJob, pace: Pace): Promise<Kept | undefined> {
  const kept: Kept = { ranges: [{ from: 0, to: SEGMENT_HEADER_BYTES }], hasGoing: false, hasStaying: false };
  const state = await walkFrames(handle, file.sizeBytes, pace, (frame) => {
    const said = verdict(frame);
    if (said === 'goes') {
      kept.hasGoing = true;
      return;
    }
    if (said === 'stays') kept.hasStaying = true;
    const { offset, sizeBytes } = frame;
    const last = kept.ranges.at(-1);
    if (last?.to === offset && kept.ranges.length > 2) last.to = offset + sizeBytes;
    else kept.ranges.push({ from: offset, to: offset + sizeBytes });
  });
  return state === 'whole' ? kept : undefined;
}

/** Where what stays will stand. What is to be forgotten comes behind the first frame, which says who wrote the file. */
function movedRanges(
  ranges: readonly { from: number; to: number }[],
  insertedBytes: number,
): { moved: MovedRange[]; sizeBytes: number } {
  let at = 0;
  const moved = ranges.map(({ from, to }, i): MovedRange => {
    if (i === 2) at += insertedBytes;
    const range = { from, to, newFrom: at };
    at += to - from;
    return range;
  });
  if (ranges.length <= 2) at += insertedBytes;
  return { moved, sizeBytes: at };
}

async function writeBeside(
  { file, mayChange, onReplaced }: RewriteJob,
  { handle, moved, forgotten }: { handle: fs.FileHandle; moved: readonly MovedRange[]; forgotten: Uint8Array },
  pace: Pace,
  through: RewriteFs,
): Promise<boolean> {
  const beside = join(dirname(file.path), `${BESIDE_PREFIX}${randomBytes(8).toString('hex')}`);
  // `wx`: a planted link of that name is an error, not a target.
  const target = await pace.io(through.open(beside, 'wx', 0o600));
  let isPlaced = false;
  try {
    try {
      await new Copy(handle, target, pace).run(moved, forgotten);
      // Its age is that of its records.
      await pace.io(target.utimes(file.modifiedMs / 1000, file.modifiedMs / 1000));
      await pace.io(target.sync());
    } finally {
      await pace.io(target.close());
    }
    if (!mayChange() || !isUnchanged(file)) return false;
    // In one turn, so that nobody reads a place of the old file in the new one.
    through.rename(beside, file.path);
    isPlaced = true;
    onReplaced(moved);
  } finally {
    if (!isPlaced) await pace.io(fs.rm(beside, { force: true }).catch(() => undefined));
  }
  await syncDirectory(dirname(file.path), pace);
  return true;
}

/** Copies ranges of one file to another, block by block. */
class Copy {
  readonly #from: fs.FileHandle;
  readonly #to: fs.FileHandle;
  readonly #pace: Pace;
  readonly #out: Buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  #filled = 0;
  readonly #block: Buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
  #start = 0;
  #length = 0;

  constructor(from: fs.FileHandle, to: fs.FileHandle, pace: Pace) {
    this.#from = from;
    this.#to = to;
    this.#pace = pace;
  }

  /** What is inserted comes behind the first frame. */
  async run(ranges: readonly MovedRange[], inserted: Uint8Array): Promise<void> {
    for (const [i, { from, to }] of ranges.entries()) {
      if (i === 2) await this.#put(inserted);
      await this.#range(from, to);
      await this.#pace.restIfOver();
    }
    if (ranges.length <= 2) await this.#put(inserted);
    await writeAll(this.#to, this.#out.subarray(0, this.#filled), this.#pace);
  }

  async #range(from: number, to: number): Promise<void> {
    for (let at = from; at < to; ) {
      if (at < this.#start || at >= this.#start + this.#length) await this.#read(at);
      const bytes = this.#block.subarray(at - this.#start, Math.min(this.#length, to - this.#start));
      await this.#put(bytes);
      at += bytes.length;
    }
  }

  async #read(at: number): Promise<void> {
    const { bytesRead } = await this.#pace.io(this.#from.read(this.#block, 0, this.#block.length, at));
    if (bytesRead === 0) throw new Error('the file became shorter');
    this.#start = at;
    this.#length = bytesRead;
  }

  async #put(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + this.#out.length - this.#filled);
      this.#out.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < this.#out.length) continue;
      await writeAll(this.#to, this.#out, this.#pace);
      this.#filled = 0;
    }
  }
}

async function writeAll(file: fs.FileHandle, bytes: Uint8Array, pace: Pace): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await pace.io(file.write(bytes, at, bytes.length - at));
    if (bytesWritten === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    at += bytesWritten;
  }
}

/** Somebody else may have rewritten or removed it, as `orangebox rm` does. */
function isUnchanged({ path, sizeBytes, modifiedMs }: ScannedFile): boolean {
  const stat = fsNow.lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size === sizeBytes && stat.mtimeMs === modifiedMs;
}

async function syncDirectory(path: string, pace: Pace): Promise<void> {
  try {
    const directory = await pace.io(fs.open(path, 'r'));
    try {
      await pace.io(directory.sync());
    } finally {
      await pace.io(directory.close());
    }
  } catch {
    // Not every platform can.
  }
}
