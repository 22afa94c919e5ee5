/** Writing segments: the header of a file and the frames in it. `docs/segments.md` is the format. */
import {
  FRAME_HEADER_BYTES,
  RECORD_TYPE,
  SEGMENT_HEADER_BYTES,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
  type SegmentRecord,
} from '@orangebox/schema';
import { type Crc32, crc32 as plainCrc32 } from './crc32.ts';

/** Bytes of a chunk record before the body bytes: type, exchange id, offset, delivery, wire size. */
export const CHUNK_HEADER_BYTES = 21;

const ENCODER = new TextEncoder();

/** The first bytes of every segment file: magic and format version. */
export function encodeSegmentHeader(): Uint8Array {
  const out = new Uint8Array(SEGMENT_HEADER_BYTES);
  ENCODER.encodeInto(SEGMENT_MAGIC, out);
  new DataView(out.buffer).setUint32(8, SEGMENT_VERSION, true);
  return out;
}

/**
 * One record as a frame, ready to be appended to a file.
 *
 * @param crc32 a faster checksum where the platform has one (`zlib.crc32`).
 */
export function encodeRecord(record: SegmentRecord, crc32: Crc32 = plainCrc32): Uint8Array {
  let frame: Uint8Array;
  if (record.type === 'requestChunk' || record.type === 'responseChunk') {
    frame = new Uint8Array(FRAME_HEADER_BYTES + CHUNK_HEADER_BYTES + record.bytes.length);
    const view = new DataView(frame.buffer);
    view.setUint32(9, record.exchangeId, true);
    view.setFloat64(13, Math.round(record.offsetNano), true);
    view.setUint32(21, record.delivery, true);
    view.setUint32(25, record.wireSizeBytes, true);
    frame.set(record.bytes, FRAME_HEADER_BYTES + CHUNK_HEADER_BYTES);
  } else {
    const { type: _, ...content } = record;
    const json = ENCODER.encode(JSON.stringify(content));
    frame = new Uint8Array(FRAME_HEADER_BYTES + 1 + json.length);
    frame.set(json, FRAME_HEADER_BYTES + 1);
  }
  frame[FRAME_HEADER_BYTES] = RECORD_TYPE[record.type];
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length - FRAME_HEADER_BYTES, true);
  view.setUint32(4, crc32(frame.subarray(FRAME_HEADER_BYTES)), true);
  return frame;
}
