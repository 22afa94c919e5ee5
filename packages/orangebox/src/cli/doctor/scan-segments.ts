/** What the segments say besides calls: drops, and which releases wrote them. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { decodeSegment } from '@orangebox/codec';
import { OrangeboxError, parseSegmentFileName, SEGMENTS_DIRECTORY } from '@orangebox/schema';

/** Drops by reason, and writers as text. */
export interface SegmentScan {
  drops: Map<string, number>;
  versions: Set<string>;
}

/** Reads the records, not the bodies, of every segment. Files that cannot be read are the store's to report. */
export async function scanSegments(dir: string): Promise<SegmentScan> {
  const scan: SegmentScan = { drops: new Map(), versions: new Set() };
  const names = await readdir(join(dir, SEGMENTS_DIRECTORY), { recursive: true }).catch(() => []);
  // Counts run on through a thread's series of files, so the last count of a series is its sum.
  const bySeries = new Map<string, Map<string, number>>();
  for (const name of names) {
    const id = parseSegmentFileName(basename(name));
    if (id === undefined) continue;
    const series = `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
    const counts = bySeries.get(series) ?? new Map<string, number>();
    bySeries.set(series, counts);
    scanFile(join(dir, SEGMENTS_DIRECTORY, name), counts, scan.versions);
  }
  for (const counts of bySeries.values()) {
    for (const [reason, count] of counts) scan.drops.set(reason, (scan.drops.get(reason) ?? 0) + count);
  }
  return scan;
}

function scanFile(path: string, counts: Map<string, number>, versions: Set<string>): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const file = fd;
    const source = {
      sizeBytes: fstatSync(file).size,
      read(offset: number, length: number): Uint8Array {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
      },
    };
    for (const { record } of decodeSegment(source, { mode: 'scan' })) {
      if (record.type === 'dropped') counts.set(record.reason, Math.max(record.count, counts.get(record.reason) ?? 0));
      else if (record.type === 'segmentStart') {
        versions.add(`orangebox ${record.process.orangebox} on node ${record.process.node}`);
      }
    }
  } catch (error) {
    if (!(error instanceof OrangeboxError) && !(error instanceof Error && 'code' in error)) throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
