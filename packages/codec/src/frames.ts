/** Writing segments: the header of a file and the frames in it. `docs/segments.md` is the format. */
import {
  FRAME_HEADER_BYTES,
  RECORD_TYPE,
  SEGMENT_HEADER_BYTES,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
  type ChunkRecord,
  type SegmentRecord,
} from '@orangebox/schema';
import { concatBytes } from './bytes.ts';
import { type Crc32, crc32 as plainCrc32 } from './crc32.ts';

/** Bytes of a chunk record before the body bytes: type, exchange id, offset, delivery, wire size. */
export const CHUNK_HEADER_BYTES = 21;

/** Bodies of this size and more are not copied into a batch. */
const APART_MIN_BYTES = 4096;
/** A batch keeps its memory for the next one up to this size. */
const KEPT_MAX_BYTES = 256 * 1024;
/** Up to this size a call into the platform costs more than the checksum. */
const PLAIN_CRC_MAX_BYTES = 160;

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
  const batch = new FrameBatch(crc32);
  batch.add(record);
  return concatBytes(batch.take()).slice();
}

/** Frames of records that are written together, in memory that is used again for the next batch. */
export class FrameBatch {
  readonly #crc32: Crc32;
  #bytes: Uint8Array = new Uint8Array(16 * 1024);
  #view: DataView = new DataView(this.#bytes.buffer);
  #size = 0;
  /** Ends of the ranges of `#bytes` that a large body follows, with that body. */
  #apart: { at: number; bytes: Uint8Array }[] = [];

  /** @param crc32 a faster checksum where the platform has one (`zlib.crc32`). */
  constructor(crc32: Crc32 = plainCrc32) {
    this.#crc32 = crc32;
  }

  /** Adds a record; returns the bytes of its frame. */
  add(record: SegmentRecord): number {
    return record.type === 'requestChunk' || record.type === 'responseChunk'
      ? this.#addChunk(record)
      : this.#addJson(record);
  }

  /** The bytes of all frames in pieces, valid until the next record is added; the batch is empty then. */
  take(): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (const { at, bytes } of this.#apart) {
      pieces.push(this.#bytes.subarray(from, at), bytes);
      from = at;
    }
    if (from < this.#size) pieces.push(this.#bytes.subarray(from, this.#size));
    this.#apart = [];
    this.#size = 0;
    if (this.#bytes.length > KEPT_MAX_BYTES) this.#replace(new Uint8Array(16 * 1024));
    return pieces;
  }

  #addChunk(record: ChunkRecord): number {
    const { bytes } = record;
    const isApart = bytes.length >= APART_MIN_BYTES;
    const headBytes = FRAME_HEADER_BYTES + CHUNK_HEADER_BYTES;
    this.#reserve(headBytes + (isApart ? 0 : bytes.length));
    const start = this.#size;
    const view = this.#view;
    view.setUint32(start + 9, record.exchangeId, true);
    view.setFloat64(start + 13, Math.round(record.offsetNano), true);
    view.setUint32(start + 21, record.delivery, true);
    view.setUint32(start + 25, record.wireSizeBytes, true);
    if (!isApart) this.#bytes.set(bytes, start + headBytes);
    this.#size += headBytes + (isApart ? 0 : bytes.length);
    this.#frame(start, record.type, headBytes + bytes.length);
    if (isApart) {
      view.setUint32(start + 4, this.#crc32(bytes, view.getUint32(start + 4, true)), true);
      this.#apart.push({ at: this.#size, bytes });
    }
    return headBytes + bytes.length;
  }

  #addJson(record: SegmentRecord, isInOrder = false): number {
    const start = this.#size;
    const from = start + FRAME_HEADER_BYTES + 1;
    const json = JSON.stringify(record);
    // The type stands in the frame; records are made with it as their first member, so that they need not be copied.
    const prefix = `{"type":"${record.type}"`;
    if (!json.startsWith(prefix)) {
      // A program may have JSON written another way, for all objects.
      if (isInOrder) throw new TypeError('JSON.stringify does not write objects as they are');
      const { type, ...content } = record;
      return this.#addJson({ type, ...content } as SegmentRecord, true);
    }
    const hasMore = json.charCodeAt(prefix.length) === 0x2c;
    const rest = json.slice(prefix.length + (hasMore ? 1 : 0));
    // No character takes more than three bytes for each of its code units.
    this.#reserve(FRAME_HEADER_BYTES + 2 + rest.length * 3);
    this.#bytes[from] = 0x7b;
    const { written } = ENCODER.encodeInto(rest, this.#bytes.subarray(from + 1));
    const frameBytes = FRAME_HEADER_BYTES + 2 + written;
    this.#size += frameBytes;
    this.#frame(start, record.type, frameBytes);
    return frameBytes;
  }

  /** Fills in type, length and the checksum of what stands in `#bytes` from `start` on. */
  #frame(start: number, type: SegmentRecord['type'], frameBytes: number): void {
    this.#bytes[start + FRAME_HEADER_BYTES] = RECORD_TYPE[type];
    const from = start + FRAME_HEADER_BYTES;
    const checksum = this.#size - from > PLAIN_CRC_MAX_BYTES ? this.#crc32 : plainCrc32;
    this.#view.setUint32(start, frameBytes - FRAME_HEADER_BYTES, true);
    this.#view.setUint32(start + 4, checksum(this.#bytes.subarray(from, this.#size)), true);
  }

  #reserve(sizeBytes: number): void {
    const needed = this.#size + sizeBytes;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#size));
    this.#replace(grown);
  }

  #replace(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}
