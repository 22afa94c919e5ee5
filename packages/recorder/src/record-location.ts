/** Places of records in this process' segments, and reading back what stands there. */
import { crc32 } from 'node:zlib';
import { decodeSegment, encodeSegmentHeader } from '@orangebox/codec';
import type { SegmentRecord } from '@orangebox/schema';
import { presentOffset, RemovedByBoundError } from './retention/moved-records.ts';
import type { SegmentFs } from './segment-directory.ts';

/** Where frames of records stand on the disk: one, or several that follow each other. */
export interface RecordLocation {
  path: string;
  offset: number;
  sizeBytes: number;
  /** Number of the file in its series. */
  n: number;
}

/** Adds a place to a list, as part of the last one where it follows it. */
export function addLocation(list: RecordLocation[], location: RecordLocation): void {
  const last = list.at(-1);
  if (last?.path === location.path && last.offset + last.sizeBytes === location.offset) {
    list[list.length - 1] = { ...last, sizeBytes: last.sizeBytes + location.sizeBytes };
  } else list.push(location);
}

/** Reads records back, also where a sweep has moved them. @throws when the file is gone or damaged, or a sweep took them */
export function readBack(location: RecordLocation, fs: SegmentFs): SegmentRecord[] {
  const header = encodeSegmentHeader();
  const bytes = new Uint8Array(header.length + location.sizeBytes);
  bytes.set(header);
  const offset = presentOffset(location.path, location.offset, location.sizeBytes);
  if (offset === undefined) throw new RemovedByBoundError(`removed by a bound of the directory: ${location.path}`);
  const fd = fs.openSync(location.path, 'r');
  try {
    let done = 0;
    while (done < location.sizeBytes) {
      const n = fs.readSync(fd, bytes, header.length + done, location.sizeBytes - done, offset + done);
      if (n <= 0) throw new Error(`segment ends early: ${location.path}`);
      done += n;
    }
  } finally {
    fs.closeSync(fd);
  }
  const decoder = decodeSegment(bytes, { crc32 });
  const records = Array.from(decoder, ({ record }) => record);
  if (decoder.end.state !== 'clean') throw new Error(`segment is damaged: ${location.path}`);
  return records;
}
