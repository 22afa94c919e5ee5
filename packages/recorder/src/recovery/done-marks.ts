/**
 * What the last recovery of a series left to be done, so that the next one need not read it again: a small file beside the
 * claims, which holds for as long as the series ends where it ended.
 */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { CLAIMS_DIRECTORY } from './claims.ts';
import type { Series } from './series-files.ts';

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
const MAX_MARK_BYTES = 4096;

/** What was left. */
export interface Left {
  payloads: number;
  spans: number;
  /** Payloads that the endpoint refused for good. */
  quarantined: number;
}

/** Path of a series' mark. */
export function donePath(dir: string, series: string): string {
  return join(dir, CLAIMS_DIRECTORY, `${series}.done.json`);
}

/** What is left in a series that nothing was added to since; undefined when that is not known. */
export function readDone(dir: string, { name, files }: Series): Left | undefined {
  const last = files.at(-1);
  if (!last) return undefined;
  try {
    // No link, and no pipe that would be waited for.
    const fd = fs.openSync(donePath(dir, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!fs.fstatSync(fd).isFile()) return undefined;
      const bytes = Buffer.alloc(MAX_MARK_BYTES);
      const mark: unknown = JSON.parse(bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, 0)));
      const { n, sizeBytes, payloads, spans, quarantined } = mark as Record<string, unknown>;
      if (n !== last.n || sizeBytes !== last.sizeBytes) return undefined;
      if (![payloads, spans, quarantined].every((count) => Number.isSafeInteger(count))) return undefined;
      return { payloads, spans, quarantined } as Left;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Notes what is left. Never throws: without it the series is read again. */
export function writeDone(dir: string, { name, files }: Series, left: Left): void {
  const last = files.at(-1);
  if (!last) return;
  const path = donePath(dir, name);
  const aside = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    const fd = fs.openSync(aside, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
    try {
      fs.writeSync(fd, JSON.stringify({ n: last.n, sizeBytes: last.sizeBytes, ...left }));
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(aside, path);
  } catch {
    fs.rmSync(aside, { force: true });
  }
}
