/** Reading segments: frames to records, past torn tails and damage, without trusting a byte of them. */
import {
  type ChunkRecord,
  FRAME_HEADER_BYTES,
  FRAME_MAX_BYTES,
  OrangeboxError,
  RECORD_TYPE,
  type RecordTypeName,
  SEGMENT_HEADER_BYTES,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
  type SegmentRecord,
} from '@orangebox/schema';
import { EMPTY_BYTES, utf8, utf8Text } from './bytes.ts';
import { type Crc32, crc32 as plainCrc32 } from './crc32.ts';
import { CHUNK_HEADER_BYTES } from './frames.ts';
import { parseRecord } from './record-shapes.ts';
import { type SegmentSource, SegmentWindow } from './segment-source.ts';

/** How to read a segment. */
export interface DecodeSegmentOptions {
  /** A faster checksum where the platform has one. */
  crc32?: Crc32;
  /**
   * `scan` gives chunk records without their bytes (`bytes` is empty) and does not check their checksums: for lists.
   * With a {@link SegmentSource} long chunks are then not even read.
   */
  mode?: 'full' | 'scan';
  /** Only records of these types are read; others are passed over by their length, unchecked. All by default. */
  types?: ReadonlySet<RecordTypeName>;
}

/** A record and where it stood. */
export interface DecodedFrame {
  record: SegmentRecord;
  /** Of the frame's first byte in the file. */
  offset: number;
  /** Of the frame, header included. */
  sizeBytes: number;
  /** Body bytes of a chunk record, also where {@link DecodeSegmentOptions.mode} left them out. */
  bodySizeBytes?: number;
}

/** What a segment turned out to be; complete once the frames have been iterated. */
export interface SegmentState {
  /** Format version of the file; 0 when the file ends before it. */
  version: number;
  /**
   * `clean`: whole frames to the end. `torn`: the last bytes are no whole frame (a crash while writing, or a file
   * still being written). `damaged`: bytes in the middle are no valid frames; what follows them was read.
   */
  state: 'clean' | 'torn' | 'damaged';
  /** Frames read. */
  frames: number;
  /** Bytes up to the end of the last whole frame. */
  wholeBytes: number;
  /** Frames or stretches passed over because a checksum, length or shape was wrong. */
  damagedFrames: number;
  /** Bytes passed over. */
  damagedBytes: number;
  /** Valid frames of record types that this version does not know. */
  unknownFrames: number;
  /** The file ends with a `segmentEnd` record. */
  closed: boolean;
}

/** The frames of a segment, and its state. */
export interface SegmentDecoder extends Iterable<DecodedFrame> {
  readonly end: SegmentState;
}

const TYPE_NAMES: ReadonlyMap<number, RecordTypeName> = new Map(
  Object.entries(RECORD_TYPE).map(([name, type]) => [type, name as RecordTypeName]),
);
const MAGIC = utf8(SEGMENT_MAGIC);
const OPEN_BRACE = 0x7b;
/** Looking for the next frame after damage may checksum this many times the file's size in all. */
const RESYNC_WORK_FACTOR = 16;

/**
 * Reads a segment. Iterate once; {@link SegmentDecoder.end} then says how it was. Bytes of chunk records are views into
 * the input.
 *
 * @throws OrangeboxError `OBX_SEGMENT_MAGIC` when the bytes are no segment, `OBX_SEGMENT_VERSION` when a newer release
 * wrote it. Nothing else in the bytes makes it throw.
 */
export function decodeSegment(source: Uint8Array | SegmentSource, options: DecodeSegmentOptions = {}): SegmentDecoder {
  const window = new SegmentWindow(source);
  const end: SegmentState = {
    version: 0,
    state: 'clean',
    frames: 0,
    wholeBytes: 0,
    damagedFrames: 0,
    damagedBytes: 0,
    unknownFrames: 0,
    closed: false,
  };
  if (readHeader(window, end)) {
    const reader = new FrameReader(window, end, options);
    return { end, [Symbol.iterator]: () => reader.frames() };
  }
  return { end, [Symbol.iterator]: () => [][Symbol.iterator]() };
}

/** Checks magic and version; false when the file ends within them. */
function readHeader(window: SegmentWindow, end: SegmentState): boolean {
  const present = Math.min(window.sizeBytes, MAGIC.length);
  window.load(0, present);
  const start = window.slice(0, present);
  if (!start.every((byte, i) => byte === MAGIC[i])) {
    throw new OrangeboxError('OBX_SEGMENT_MAGIC', 'this is not a segment file', {
      hint: 'segment files end in .obxs and lie in the segments directory of ORANGEBOX_DIR',
    });
  }
  if (!window.load(0, SEGMENT_HEADER_BYTES)) {
    end.state = 'torn';
    return false;
  }
  end.version = window.u32(MAGIC.length);
  if (end.version > SEGMENT_VERSION || end.version === 0) {
    throw new OrangeboxError(
      'OBX_SEGMENT_VERSION',
      `the segment has format version ${end.version}; this release reads up to ${SEGMENT_VERSION}`,
      { hint: 'update orangebox, or read it with the release that wrote it' },
    );
  }
  end.wholeBytes = SEGMENT_HEADER_BYTES;
  return true;
}

class FrameReader {
  readonly #window: SegmentWindow;
  readonly #end: SegmentState;
  readonly #crc32: Crc32;
  readonly #scan: boolean;
  readonly #types: ReadonlySet<RecordTypeName> | undefined;
  #resyncWork: number;

  constructor(window: SegmentWindow, end: SegmentState, options: DecodeSegmentOptions) {
    this.#window = window;
    this.#end = end;
    this.#crc32 = options.crc32 ?? plainCrc32;
    this.#scan = options.mode === 'scan';
    this.#types = options.types;
    this.#resyncWork = RESYNC_WORK_FACTOR * window.sizeBytes;
  }

  *frames(): Generator<DecodedFrame, void, undefined> {
    const end = this.#end;
    let offset = SEGMENT_HEADER_BYTES;
    let badFrom = -1;
    while (offset < this.#window.sizeBytes) {
      const size = this.#frameSize(offset);
      const frame = size === 0 ? undefined : this.#frame(offset, size);
      if (frame === undefined) {
        if (badFrom < 0) badFrom = offset;
        offset = this.#resync(offset);
        continue;
      }
      if (badFrom >= 0) {
        this.#damage(badFrom, offset);
        badFrom = -1;
      }
      offset += size;
      end.wholeBytes = offset;
      if (frame === 'unknown') end.unknownFrames++;
      else if (frame === 'passed') {
        end.frames++;
        end.closed = false;
      } else if (frame === 'misshapen') this.#damage(offset - size, offset);
      else {
        end.frames++;
        end.closed = frame.record.type === 'segmentEnd';
        yield frame;
      }
    }
    if (badFrom >= 0 && end.state === 'clean') end.state = 'torn';
    if (badFrom >= 0) end.closed = false;
  }

  #damage(from: number, to: number): void {
    this.#end.state = 'damaged';
    this.#end.damagedFrames++;
    this.#end.damagedBytes += to - from;
  }

  /** Size of the frame at an offset by its length field, 0 when that cannot be one. */
  #frameSize(offset: number): number {
    if (!this.#window.load(offset, FRAME_HEADER_BYTES + 1)) return 0;
    const payload = this.#window.u32(offset);
    if (payload === 0 || payload > FRAME_MAX_BYTES) return 0;
    const size = FRAME_HEADER_BYTES + payload;
    return offset + size <= this.#window.sizeBytes ? size : 0;
  }

  #typeAt(offset: number): RecordTypeName | undefined {
    return TYPE_NAMES.get(this.#window.bytes[offset + FRAME_HEADER_BYTES - this.#window.start] ?? 0);
  }

  /** The frame at an offset; undefined when the checksum is wrong. */
  #frame(offset: number, size: number): DecodedFrame | 'unknown' | 'misshapen' | 'passed' | undefined {
    const type = this.#typeAt(offset);
    if (type !== undefined && this.#types && !this.#types.has(type)) return 'passed';
    const isChunk = type === 'requestChunk' || type === 'responseChunk';
    if (isChunk && this.#scan) return this.#chunk(type, offset, size);
    if (!this.#checksumRight(offset, size)) {
      this.#resyncWork -= size;
      return undefined;
    }
    if (type === undefined) return 'unknown';
    if (isChunk) return this.#chunk(type, offset, size) ?? 'misshapen';
    const text = utf8Text(this.#window.slice(offset + FRAME_HEADER_BYTES + 1, size - FRAME_HEADER_BYTES - 1));
    const record = text === undefined ? undefined : parseRecord(type, text);
    return record ? { record, offset, sizeBytes: size } : 'misshapen';
  }

  #checksumRight(offset: number, size: number): boolean {
    if (!this.#window.load(offset, size)) return false;
    const stated = this.#window.u32(offset + 4);
    return this.#crc32(this.#window.slice(offset + FRAME_HEADER_BYTES, size - FRAME_HEADER_BYTES)) >>> 0 === stated;
  }

  #chunk(type: ChunkRecord['type'], offset: number, size: number): DecodedFrame | undefined {
    const head = FRAME_HEADER_BYTES + CHUNK_HEADER_BYTES;
    if (size < head || !this.#window.load(offset, head)) return undefined;
    const { view, start } = this.#window;
    const at = offset - start;
    const offsetNano = view.getFloat64(at + 13, true);
    const exchangeId = view.getUint32(at + 9, true);
    if (!Number.isSafeInteger(offsetNano) || offsetNano < 0 || exchangeId === 0) return undefined;
    const record: ChunkRecord = {
      type,
      exchangeId,
      offsetNano,
      delivery: view.getUint32(at + 21, true),
      wireSizeBytes: view.getUint32(at + 25, true),
      bytes: this.#scan ? EMPTY_BYTES : this.#window.slice(offset + head, size - head),
    };
    return { record, offset, sizeBytes: size, bodySizeBytes: size - head };
  }

  /** The next offset to try after a bad frame: behind it where its length still holds, else the next that checks out. */
  #resync(bad: number): number {
    if (this.#resyncWork <= 0) return this.#window.sizeBytes;
    const size = this.#frameSize(bad);
    if (size > 0) {
      const next = bad + size;
      // A wrong length seldom lands on the end or on a frame; a wrong payload always does.
      if (next === this.#window.sizeBytes || this.#plausible(next)) return next;
    }
    for (let at = bad + 1; at < this.#window.sizeBytes; at++) {
      if (this.#resyncWork <= 0) break;
      if (this.#plausible(at)) return at;
    }
    return this.#window.sizeBytes;
  }

  /** Whether a known frame with a right checksum stands at an offset; costs from the budget of resynchronising. */
  #plausible(offset: number): boolean {
    const size = this.#frameSize(offset);
    if (size === 0) return false;
    const type = this.#typeAt(offset);
    if (type === undefined) return false;
    const isChunk = type === 'requestChunk' || type === 'responseChunk';
    if (isChunk ? size < FRAME_HEADER_BYTES + CHUNK_HEADER_BYTES : !this.#startsObject(offset, size)) return false;
    this.#resyncWork -= size;
    return this.#checksumRight(offset, size);
  }

  #startsObject(offset: number, size: number): boolean {
    if (size < FRAME_HEADER_BYTES + 3 || !this.#window.load(offset, FRAME_HEADER_BYTES + 2)) return false;
    return this.#window.bytes[offset + FRAME_HEADER_BYTES + 1 - this.#window.start] === OPEN_BRACE;
  }
}
