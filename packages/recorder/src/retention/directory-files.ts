/** The segment files of a directory, and which of their series nobody writes to any more. */
import type { Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseSegmentFileName, SEGMENTS_DIRECTORY, type SegmentFileId, segmentHost } from '@orangebox/schema';
import { hasWriter } from '../recovery/liveness.ts';
import type { Pace } from './pace.ts';
import { FOREIGN_IDLE_MS } from './thresholds.ts';

/** A file as it was listed. */
export interface ListedFile {
  path: string;
  n: number;
  sizeBytes: number;
  modifiedMs: number;
}

/** The files of one thread of one process, in order. */
export interface ListedSeries {
  /** File name without number and extension. */
  name: string;
  id: Omit<SegmentFileId, 'n'>;
  files: ListedFile[];
}

/** What stands in a directory. */
export interface Listing {
  series: ListedSeries[];
  totalBytes: number;
  /** Left behind by a sweep that was killed. */
  leftovers: string[];
}

/** Files that are being written beside their place; readers pass over them. */
export const BESIDE_PREFIX = '.sweep-';
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Lists `<dir>/segments`. What a link points to is not ours. Never rejects: what can't be read is not there. */
export async function listDirectory(dir: string, pace: Pace): Promise<Listing> {
  const base = join(dir, SEGMENTS_DIRECTORY);
  const found = new Map<string, ListedSeries>();
  const listing: Listing = { series: [], totalBytes: 0, leftovers: [] };
  for (const date of await namesIn(base, pace)) {
    if (!DATE.test(date) || !(await statOf(join(base, date), pace))?.isDirectory()) continue;
    for (const name of await namesIn(join(base, date), pace)) {
      const path = join(base, date, name);
      const isLeftover = name.startsWith(BESIDE_PREFIX);
      const id = parseSegmentFileName(name);
      if (!isLeftover && (!id || !Number.isSafeInteger(id.n) || !Number.isSafeInteger(id.pid))) continue;
      const stat = await statOf(path, pace);
      if (!stat?.isFile()) continue;
      listing.totalBytes += stat.size;
      if (!id) listing.leftovers.push(path);
      else add(found, id, { path, n: id.n, sizeBytes: stat.size, modifiedMs: stat.mtimeMs });
    }
  }
  for (const series of found.values()) {
    series.files.sort((a, b) => a.n - b.n);
    listing.series.push(series);
  }
  return listing;
}

/** Removes date directories that hold nothing; today's and yesterday's may be about to be used. */
export async function removeEmptyDates(dir: string, nowMs: number, pace: Pace): Promise<void> {
  const base = join(dir, SEGMENTS_DIRECTORY);
  const recent = new Date(nowMs - 2 * 24 * 3600_000).toISOString().slice(0, 10);
  for (const date of await namesIn(base, pace)) {
    if (!DATE.test(date) || date >= recent) continue;
    // Not empty, or a link: it stays.
    await pace.io(fs.rmdir(join(base, date)).catch(() => undefined));
  }
}

/**
 * Number from which on files of a series are in use; all below it are closed.
 * A file of another host, or of another namespace of process numbers, is closed when it has been idle for a day.
 */
export function closedBelowN(
  { id, files }: ListedSeries,
  scope: { own: Omit<SegmentFileId, 'n'> | undefined; keepFromN(): number },
  nowMs: number,
  isNear = true,
): number {
  if (isOwnSeries(id, scope.own)) return scope.keepFromN();
  const isHere = isNear && id.host === segmentHost(hostname());
  if (isHere) return hasWriter(id.pid, id.startUnixMs) ? 0 : Number.POSITIVE_INFINITY;
  const inUse = files.find(({ modifiedMs }) => nowMs - modifiedMs <= FOREIGN_IDLE_MS);
  return inUse ? inUse.n : Number.POSITIVE_INFINITY;
}

/** Whether it is the series that this thread writes. */
export function isOwnSeries(id: ListedSeries['id'], own: ListedSeries['id'] | undefined): boolean {
  return (
    own !== undefined &&
    id.host === own.host &&
    id.pid === own.pid &&
    id.threadId === own.threadId &&
    id.startUnixMs === own.startUnixMs
  );
}

function add(found: Map<string, ListedSeries>, { n: _, ...id }: SegmentFileId, file: ListedFile): void {
  const name = `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
  const series = found.get(name) ?? { name, id, files: [] };
  found.set(name, series);
  series.files.push(file);
}

async function namesIn(path: string, pace: Pace): Promise<string[]> {
  try {
    const names = await pace.io(fs.readdir(path));
    return names.sort();
  } catch {
    return [];
  }
}

async function statOf(path: string, pace: Pace): Promise<Stats | undefined> {
  try {
    return await pace.io(fs.lstat(path));
  } catch {
    return undefined;
  }
}
