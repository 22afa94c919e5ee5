/** Keeps the directory of segments below its bound: the oldest closed files go first. */
import { join } from 'node:path';
import { parseSegmentFileName, SEGMENTS_DIRECTORY, type SegmentFileId } from '@orangebox/schema';
import type { SegmentFs } from './segment-directory.ts';

/** Which files are ours and still needed. */
export interface RetentionScope {
  root: string;
  maxBytes: number;
  own: Omit<SegmentFileId, 'n'>;
  /** Own files from this number on are open or still read from. */
  keepFromN: number;
}

/** What a sweep did. */
export interface RetentionResult {
  removedFiles: number;
  removedBytes: number;
  /** Bytes left. */
  totalBytes: number;
}

interface Found {
  path: string;
  id: SegmentFileId;
  sizeBytes: number;
  modifiedMs: number;
}

/** A file of another machine (shared volume) that nobody wrote to for this long is taken as closed. */
const FOREIGN_IDLE_MS = 24 * 3600_000;

/** Removes the oldest closed segments until the directory is below its bound. Never throws. */
export function sweepSegments(scope: RetentionScope, fs: SegmentFs, nowMs: number = Date.now()): RetentionResult {
  const files = listSegments(scope.root, fs).sort((a, b) => a.modifiedMs - b.modifiedMs || a.id.n - b.id.n);
  let totalBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  let removedFiles = 0;
  let removedBytes = 0;
  for (const file of files) {
    if (totalBytes <= scope.maxBytes) break;
    if (!isClosed(file, scope, nowMs)) continue;
    try {
      fs.unlinkSync(file.path);
    } catch {
      // Another process may have swept it; if it can't be removed, the next one may be.
      continue;
    }
    totalBytes -= file.sizeBytes;
    removedBytes += file.sizeBytes;
    removedFiles++;
  }
  return { removedFiles, removedBytes, totalBytes };
}

function listSegments(root: string, fs: SegmentFs): Found[] {
  const found: Found[] = [];
  const base = join(root, SEGMENTS_DIRECTORY);
  for (const date of namesIn(base, fs)) {
    // What a link points to is not ours to remove.
    if (!isDirectory(join(base, date), fs)) continue;
    for (const name of namesIn(join(base, date), fs)) {
      const id = parseSegmentFileName(name);
      if (!id) continue;
      const path = join(base, date, name);
      try {
        const stat = fs.lstatSync(path);
        if (stat.isFile()) found.push({ path, id, sizeBytes: stat.size, modifiedMs: stat.mtimeMs });
      } catch {
        // Gone in between.
      }
    }
  }
  return found;
}

function isDirectory(path: string, fs: SegmentFs): boolean {
  try {
    return fs.lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

function namesIn(path: string, fs: SegmentFs): string[] {
  try {
    return fs.readdirSync(path);
  } catch {
    return [];
  }
}

function isClosed(file: Found, scope: RetentionScope, nowMs: number): boolean {
  const { id } = file;
  if (id.host !== scope.own.host) return nowMs - file.modifiedMs > FOREIGN_IDLE_MS;
  if (id.pid !== scope.own.pid) return !isAlive(id.pid);
  const ownSeries = id.threadId === scope.own.threadId && id.startUnixMs === scope.own.startUnixMs;
  if (ownSeries) return id.n < scope.keepFromN;
  // Another thread of this process is alive for all we know; an earlier process with our pid is not.
  return file.modifiedMs < nowMs - process.uptime() * 1000;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
