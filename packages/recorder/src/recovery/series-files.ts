/** The segment files of a directory, by series. Links and files of another kind are passed over. */
import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { parseSegmentFileName, type SegmentFileId, SEGMENTS_DIRECTORY } from '@orangebox/schema';
import type { Steps } from './slices.ts';

/** One file of a series. */
export interface SeriesFile {
  path: string;
  n: number;
  sizeBytes: number;
  modifiedMs: number;
}

/** All files that one thread of a process wrote, in order. */
export interface Series {
  /** File name without number and extension. */
  name: string;
  id: Omit<SegmentFileId, 'n'>;
  files: SeriesFile[];
}

/** Finds the series below `<dir>/segments`, oldest first. @throws the file system's error where it can't be read */
export function* findSeries(dir: string): Steps<Series[]> {
  const base = join(dir, SEGMENTS_DIRECTORY);
  const found = new Map<string, Series>();
  for (const date of datesIn(base)) {
    for (const name of namesIn(join(base, date))) {
      addFile(found, join(base, date, name), name);
      yield;
    }
  }
  const all = [...found.values()];
  for (const series of all) series.files.sort((a, b) => a.n - b.n);
  return all.sort((a, b) => a.id.startUnixMs - b.id.startUnixMs || (a.name < b.name ? -1 : 1));
}

/** The files of one series as they are now. */
export function lookAgain({ name, id }: Series, dir: string): Series {
  const found = new Map<string, Series>([[name, { name, id, files: [] }]]);
  const base = join(dir, SEGMENTS_DIRECTORY);
  for (const date of datesIn(base)) {
    for (const fileName of namesIn(join(base, date))) {
      if (fileName.startsWith(`${name}-`)) addFile(found, join(base, date, fileName), fileName);
    }
  }
  const now = found.get(name) ?? { name, id, files: [] };
  now.files.sort((a, b) => a.n - b.n);
  return now;
}

function datesIn(base: string): string[] {
  return namesIn(base).filter((date) => /^\d{4}-\d{2}-\d{2}$/.test(date) && statOf(join(base, date))?.isDirectory());
}

function addFile(found: Map<string, Series>, path: string, fileName: string): void {
  const id = parseSegmentFileName(fileName);
  if (!id || !Number.isSafeInteger(id.n) || !Number.isSafeInteger(id.pid)) return;
  const stat = statOf(path);
  if (!stat?.isFile()) return;
  const { n, ...rest } = id;
  const name = `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
  const series = found.get(name) ?? { name, id: rest, files: [] };
  found.set(name, series);
  series.files.push({ path, n, sizeBytes: stat.size, modifiedMs: stat.mtimeMs });
}

function statOf(path: string): Stats | undefined {
  // Bounds may remove a file between listing and looking.
  return lstatSync(path, { throwIfNoEntry: false });
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
