/** The oldest files of a directory, listed at once and in bounded number. */
import { join } from 'node:path';
import { parseSegmentFileName, SEGMENTS_DIRECTORY, type SegmentFileId } from '@orangebox/schema';
import type { SegmentFs } from '../segment-directory.ts';

/** A file of a series. */
export interface OldFile {
  path: string;
  /** Of its series: file name without number and extension. */
  series: string;
  id: SegmentFileId;
  sizeBytes: number;
  modifiedMs: number;
}

/** What was listed. */
export interface OldestFiles {
  files: OldFile[];
  /** Of all files, what sweeps left beside them included. */
  totalBytes: number;
  /** There are no others. */
  isWhole: boolean;
}

/** Some milliseconds' worth. */
const MAX_FILES = 2000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Lists the first days' files, oldest first. Of a day with too many, those that the directory names first. Never throws. */
export function listOldest(dir: string, fs: SegmentFs, maxFiles: number = MAX_FILES): OldestFiles {
  const base = join(dir, SEGMENTS_DIRECTORY);
  const found: OldestFiles = { files: [], totalBytes: 0, isWhole: true };
  let left = maxFiles;
  try {
    for (const date of fs.readdirSync(base).sort()) {
      const directory = join(base, date);
      if (!DATE.test(date) || !fs.lstatSync(directory).isDirectory()) continue;
      const names = fs.opendirSync(directory);
      try {
        for (let entry = names.readSync(); entry; entry = names.readSync()) {
          if (left-- <= 0) return { ...found, files: oldestFirst(found.files), isWhole: false };
          add(found, join(directory, entry.name), entry.name, fs);
        }
      } finally {
        names.closeSync();
      }
    }
  } catch {
    // There are none, or they can't be read.
    found.isWhole = false;
  }
  return { ...found, files: oldestFirst(found.files) };
}

function add(found: OldestFiles, path: string, name: string, fs: SegmentFs): void {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile()) return;
  const id = parseSegmentFileName(name);
  // What a sweep writes beside its place takes room too.
  found.totalBytes += stat.size;
  if (!id || !Number.isSafeInteger(id.n) || !Number.isSafeInteger(id.pid)) return;
  const series = `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
  found.files.push({ path, series, id, sizeBytes: stat.size, modifiedMs: stat.mtimeMs });
}

function oldestFirst(files: OldFile[]): OldFile[] {
  return files.sort((a, b) => a.modifiedMs - b.modifiedMs || a.id.n - b.id.n);
}
