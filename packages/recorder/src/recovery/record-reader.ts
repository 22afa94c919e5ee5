/** Reading segment files that somebody else wrote: bounded, and past whatever is damaged in them. */
import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { type DecodedFrame, decodeSegment, encodeSegmentHeader, type SegmentState } from '@orangebox/codec';
import { SEGMENT_HEADER_BYTES, type SegmentRecord } from '@orangebox/schema';
import { recordsAt } from '../record-bits.ts';
import type { RecordLocation } from '../record-location.ts';
import type { Steps } from './slices.ts';

/** Frames between two points where the work may be interrupted. */
const FRAMES_PER_STEP = 32;

/**
 * Visits the frames of a file from an offset on, without the bytes of chunks. Gives how the file was.
 * @throws the file system's error, or that of a file that is no segment
 */
export function* scanFrames(
  path: string,
  from: number,
  sizeBytes: number,
  visit: (frame: DecodedFrame) => void,
): Steps<SegmentState> {
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
  try {
    const start = Math.max(from, SEGMENT_HEADER_BYTES);
    // A part of a file is shown to the decoder as a file of its own: a header, then the frames of the part.
    const shift = start - SEGMENT_HEADER_BYTES;
    let reused = Buffer.allocUnsafeSlow(0);
    const decoder = decodeSegment(
      {
        sizeBytes: shift === 0 ? sizeBytes : Math.max(SEGMENT_HEADER_BYTES, sizeBytes - shift),
        read(offset, length) {
          if (shift > 0 && offset < SEGMENT_HEADER_BYTES) return encodeSegmentHeader();
          if (reused.length < length) reused = Buffer.allocUnsafeSlow(length);
          return readFully(fd, reused.subarray(0, length), offset + shift);
        },
      },
      { crc32, mode: 'scan' },
    );
    let frames = 0;
    for (const frame of decoder) {
      frame.offset += shift;
      visit(frame);
      if (++frames % FRAMES_PER_STEP === 0) yield;
    }
    decoder.end.wholeBytes += shift;
    return decoder.end;
  } finally {
    fs.closeSync(fd);
  }
}

/** The records at these places, in order; those that are damaged or gone are left out, and counted. */
export function readRecords(locations: readonly RecordLocation[]): { records: SegmentRecord[]; isWhole: boolean } {
  const records: SegmentRecord[] = [];
  let isWhole = true;
  let open: { path: string; fd: number } | undefined;
  try {
    for (const { path, offset, sizeBytes } of locations) {
      if (open?.path !== path) {
        if (open) fs.closeSync(open.fd);
        open = undefined;
        open = { path, fd: fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW) };
      }
      const header = encodeSegmentHeader();
      const bytes = Buffer.allocUnsafeSlow(header.length + sizeBytes);
      bytes.set(header);
      const part = readFully(open.fd, bytes.subarray(header.length), offset);
      const decoder = decodeSegment(bytes.subarray(0, header.length + part.length), { crc32 });
      for (const { record } of decoder) records.push(record);
      if (decoder.end.state !== 'clean' || part.length < sizeBytes) isWhole = false;
    }
  } catch {
    // The file was removed meanwhile.
    isWhole = false;
  } finally {
    if (open) fs.closeSync(open.fd);
  }
  return { records, isWhole };
}

/** The records at these places bit by bit, see `record-bits.ts`. @throws when one of them is damaged or gone */
export function* readBits(locations: readonly RecordLocation[]): Generator<SegmentRecord> {
  for (const { path, offset, sizeBytes } of locations) {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    try {
      yield* recordsAt(fd, offset, sizeBytes, fs);
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** As {@link readBits}; those that are damaged or gone are left out. */
export function* readBitsLeft(locations: readonly RecordLocation[]): Generator<SegmentRecord> {
  for (const location of locations) {
    try {
      yield* readBits([location]);
    } catch {
      // What stands behind the damage was given before it is told.
    }
  }
}

function readFully(fd: number, target: Buffer, position: number): Buffer {
  let filled = 0;
  while (filled < target.length) {
    const count = fs.readSync(fd, target, filled, target.length - filled, position + filled);
    if (count === 0) return target.subarray(0, filled);
    filled += count;
  }
  return target;
}
