import { crc32 as zlibCrc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { SegmentRecord } from '@orangebox/schema';
import {
  concatBytes,
  crc32,
  type DecodeSegmentOptions,
  decodeSegment,
  encodeRecord,
  encodeSegmentHeader,
  utf8,
} from './index.ts';
import { sampleChunk, sampleRecords } from './testing/sample-records.ts';

const records = sampleRecords();
const frames = records.map((record) => encodeRecord(record));
const file = concatBytes([encodeSegmentHeader(), ...frames]);

function read(bytes: Uint8Array, options?: DecodeSegmentOptions) {
  const decoder = decodeSegment(bytes, options);
  const read = [...decoder].map((frame) => frame.record);
  return { records: read, end: decoder.end };
}

/** Where each frame begins. */
const offsets = frames.map((_, i) => 12 + frames.slice(0, i).reduce((sum, frame) => sum + frame.length, 0));

/** A file in which one byte of one frame is another. */
function damaged(frame: number, at: number, value = 0xaa): Uint8Array {
  const bytes = file.slice();
  bytes[(offsets[frame] ?? 0) + at] = value;
  return bytes;
}

describe('a segment', () => {
  it('comes back as it was written', () => {
    const { records: read_, end } = read(file);
    expect(read_).toEqual(records);
    expect(end).toMatchObject({ state: 'clean', version: 1, frames: records.length, wholeBytes: file.length });
  });

  it('may be written and read with the checksum of zlib', () => {
    const written = concatBytes([encodeSegmentHeader(), ...records.map((record) => encodeRecord(record, zlibCrc32))]);
    expect(written).toEqual(file);
    expect(read(file, { crc32: zlibCrc32 }).records).toEqual(records);
    for (let length = 0; length < 70; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + 7) & 255);
      expect(crc32(bytes)).toBe(zlibCrc32(bytes));
    }
  });

  it('keeps every whole frame of a torn tail, wherever it is torn', () => {
    for (let size = 0; size < file.length; size++) {
      const { records: kept, end } = read(file.subarray(0, size));
      const whole = offsets.filter((offset, i) => offset + (frames[i]?.length ?? 0) <= size).length;
      expect(kept).toHaveLength(whole);
      expect(kept.at(-1)).toEqual(records[whole - 1]);
      const atBorder = size === 12 || offsets.includes(size);
      expect(end.state).toBe(atBorder ? 'clean' : 'torn');
      if (size >= 12) expect(end.wholeBytes).toBe(offsets[whole] ?? file.length);
    }
  });

  it('takes zeros at the end, as a machine’s crash leaves them, for a torn tail', () => {
    const { records: kept, end } = read(concatBytes([file, new Uint8Array(4096)]));
    expect(kept).toEqual(records);
    expect(end).toMatchObject({ state: 'torn', wholeBytes: file.length });
  });

  it('passes over a frame with a wrong payload', () => {
    for (let frame = 0; frame < frames.length - 1; frame++) {
      const { records: kept, end } = read(damaged(frame, 12));
      expect(kept).toEqual(records.filter((_, i) => i !== frame));
      expect(end).toMatchObject({ state: 'damaged', damagedFrames: 1, damagedBytes: frames[frame]?.length });
    }
  });

  it('finds the next frame behind a wrong length', () => {
    for (let frame = 0; frame < frames.length - 1; frame++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        for (const at of [0, 1, 2, 3]) {
          const bytes = damaged(frame, at, value);
          if (bytes[(offsets[frame] ?? 0) + at] === file[(offsets[frame] ?? 0) + at]) continue;
          expect(read(bytes).records).toEqual(records.filter((_, i) => i !== frame));
        }
      }
    }
  });

  it('counts a record of another shape as damage', () => {
    const wrong = encodeRecord({ type: 'shipped', key: 7 } as unknown as SegmentRecord);
    const { records: kept, end } = read(concatBytes([encodeSegmentHeader(), wrong, frames[1] ?? wrong]));
    expect(kept).toEqual([records[1]]);
    expect(end).toMatchObject({ state: 'damaged', damagedFrames: 1 });
  });

  it('counts a number that JSON can not write again as damage, in whatever member', () => {
    for (const text of ['{"key":"k","more":1e999}', '{"key":"k","more":[{"deep":-1e400}]}']) {
      const wrong = encodeRecord({ type: 'shipped', key: text.slice(8) } as SegmentRecord);
      const json = utf8(text.padEnd(wrong.length - 9));
      wrong.set(json.subarray(0, wrong.length - 9), 9);
      new DataView(wrong.buffer).setUint32(4, crc32(wrong.subarray(8)), true);
      const { records: kept, end } = read(concatBytes([encodeSegmentHeader(), wrong, frames[1] ?? wrong]));
      expect(kept).toEqual([records[1]]);
      expect(end).toMatchObject({ state: 'damaged', damagedFrames: 1 });
    }
  });

  it('passes over record types of a later release', () => {
    const later = encodeRecord({ type: 'shipped', key: 'k' });
    later[8] = 200;
    new DataView(later.buffer).setUint32(4, crc32(later.subarray(8)), true);
    const { records: kept, end } = read(concatBytes([encodeSegmentHeader(), later, frames[1] ?? later]));
    expect(kept).toEqual([records[1]]);
    expect(end).toMatchObject({ state: 'clean', unknownFrames: 1 });
  });

  it('is refused with a code when it is of a later version or no segment', () => {
    const later = file.slice();
    later[8] = 2;
    expect(() => read(later)).toThrow(expect.objectContaining({ code: 'OBX_SEGMENT_VERSION' }));
    expect(() => read(utf8('PK\u0003\u0004 and so on'))).toThrow(
      expect.objectContaining({ code: 'OBX_SEGMENT_MAGIC' }),
    );
  });

  it('tells whether it was closed', () => {
    const end = encodeRecord({ type: 'segmentEnd', endUnixNano: '1', rotated: true });
    expect(read(file).end.closed).toBe(false);
    expect(read(concatBytes([file, end])).end.closed).toBe(true);
  });
});

describe('scanning', () => {
  it('gives all but the bytes of chunks', () => {
    const scanned = [...decodeSegment(file, { mode: 'scan' })];
    expect(scanned.map((frame) => frame.record)).toEqual(
      records.map((record) => ('bytes' in record ? { ...record, bytes: new Uint8Array(0) } : record)),
    );
    expect(scanned.map((frame) => frame.bodySizeBytes)).toEqual(
      records.map((record) => ('bytes' in record ? record.bytes.length : undefined)),
    );
  });

  it('does not even read long chunks', () => {
    const long = sampleChunk('responseChunk', 1, new Uint8Array(8 * 1024 * 1024), 1, 1);
    const bytes = concatBytes([file, encodeRecord(long, zlibCrc32), encodeRecord({ type: 'shipped', key: 'k' })]);
    let readBytes = 0;
    const source = {
      sizeBytes: bytes.length,
      read(offset: number, length: number): Uint8Array {
        readBytes += length;
        return bytes.subarray(offset, offset + length);
      },
    };
    const decoder = decodeSegment(source, { mode: 'scan' });
    expect([...decoder].at(-1)?.record).toEqual({ type: 'shipped', key: 'k' });
    expect(readBytes).toBeLessThan(2 * 1024 * 1024);
    expect([...decodeSegment(source)].map((frame) => frame.record)).toHaveLength(records.length + 2);
  });
});

describe('hostile bytes', () => {
  /** A small generator of numbers, so that a failure can be run again. */
  function random(seed: number): () => number {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
  }

  it('never make it throw, and never give a record that was not written', () => {
    const written = new Set(frames.map((frame) => Buffer.from(frame).toString('latin1')));
    const next = random(20_251);
    for (let round = 0; round < 4000; round++) {
      const bytes = file.slice(0, next() < 0.3 ? Math.floor(next() * file.length) : file.length);
      for (let edit = 0; edit < 1 + next() * 6; edit++) {
        const at = 12 + Math.floor(next() * Math.max(0, bytes.length - 12));
        const kind = next();
        if (kind < 0.5) bytes[at] = Math.floor(next() * 256);
        else if (kind < 0.7) bytes.fill(next() < 0.5 ? 0 : 0xff, at, at + Math.floor(next() * 200));
        else bytes.copyWithin(at, 12 + Math.floor(next() * file.length), 12 + Math.floor(next() * file.length));
      }
      if (bytes.length < 12) continue;
      const { records: kept, end } = read(bytes, { crc32: zlibCrc32 });
      for (const record of kept) expect(written.has(Buffer.from(encodeRecord(record)).toString('latin1'))).toBe(true);
      expect(end.frames).toBe(kept.length);
      expect(() => read(bytes, { mode: 'scan', crc32: zlibCrc32 })).not.toThrow();
    }
  });

  it('cost time in proportion to their number', () => {
    // Frames that each claim the rest of the file, one after the other.
    const size = 1024 * 1024;
    const bytes = new Uint8Array(size);
    bytes.set(encodeSegmentHeader());
    const view = new DataView(bytes.buffer);
    for (let at = 12; at + 12 < size; at += 11) {
      view.setUint32(at, size - at - 8, true);
      bytes[at + 8] = 7;
    }
    const start = performance.now();
    expect(read(bytes).records).toEqual([]);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
