/** Going over the frames of a segment file in small steps, without the bytes of bodies. */
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import {
  FRAME_HEADER_BYTES,
  FRAME_MAX_BYTES,
  RECORD_TYPE,
  type RecordTypeName,
  SEGMENT_HEADER_BYTES,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
} from '@orangebox/schema';
import type { Pace } from './pace.ts';

/** A frame; its content is valid during the visit only. */
export interface WalkedFrame {
  /** Undefined for types that this release does not know. */
  type: RecordTypeName | undefined;
  offset: number;
  /** Header included. */
  sizeBytes: number;
  /** JSON text, or what stands before the bytes of a chunk. */
  content: Buffer;
  /** False where only the first part of a very large content is there. */
  isWhole: boolean;
}

/**
 * `whole`: frames up to the end. `unclean`: torn or damaged somewhere; what stands before it was visited. `unknown`: no
 * segment, or one of a newer version.
 */
export type WalkState = 'whole' | 'unclean' | 'unknown';

/** Each waits for a turn of the program. */
const BLOCK_BYTES = 512 * 1024;
/** Of a larger JSON frame the first part tells enough; its checksum is not looked at. */
const LARGE_JSON_BYTES = 1024 * 1024;
const CHUNK_CONTENT_BYTES = 20;
const CHUNK_MIN_BYTES = FRAME_HEADER_BYTES + 1 + CHUNK_CONTENT_BYTES;
/** Names of record types by their number. */
export const TYPE_NAMES: ReadonlyMap<number, RecordTypeName> = new Map(
  Object.entries(RECORD_TYPE).map(([name, type]) => [type, name as RecordTypeName]),
);

/** How a file is gone over. */
export interface WalkOptions {
  /** Frames of other types are passed over by their length, unchecked. */
  types?: ReadonlySet<RecordTypeName>;
}

/** Frames between two looks at the clock. */
const FRAMES_PER_LOOK = 8;
/** Length, checksum and type. */
export const HEAD_BYTES: number = FRAME_HEADER_BYTES + 1;

/**
 * Visits the frames of a file of known size; a visit that gives false ends the walk.
 * @throws the file system's error
 */
export async function walkFrames(
  file: FileHandle,
  sizeBytes: number,
  pace: Pace,
  visit: (frame: WalkedFrame) => boolean | void,
  options: WalkOptions = {},
): Promise<WalkState> {
  const window = new Window(file, sizeBytes, pace);
  if (!(await window.load(0, SEGMENT_HEADER_BYTES))) return 'unclean';
  const header = window.slice(0, SEGMENT_HEADER_BYTES);
  if (!isKnownHeader(header)) return 'unknown';
  let frames = 0;
  let offset = SEGMENT_HEADER_BYTES;
  while (offset < sizeBytes) {
    if (++frames % FRAMES_PER_LOOK === 0 && pace.isOver) await pace.rest();
    if (!window.has(offset, HEAD_BYTES) && !(await window.load(offset, HEAD_BYTES))) return 'unclean';
    const payloadBytes = window.u32(offset);
    const frameBytes = FRAME_HEADER_BYTES + payloadBytes;
    if (payloadBytes === 0 || payloadBytes > FRAME_MAX_BYTES || offset + frameBytes > sizeBytes) return 'unclean';
    const type = TYPE_NAMES.get(window.u8(offset + FRAME_HEADER_BYTES));
    if (options.types && (type === undefined || !options.types.has(type))) {
      offset += frameBytes;
      continue;
    }
    const isChunk = type === 'requestChunk' || type === 'responseChunk';
    if (isChunk && frameBytes < CHUNK_MIN_BYTES) return 'unclean';
    const isWhole = frameBytes <= LARGE_JSON_BYTES;
    const wanted = isChunk ? CHUNK_MIN_BYTES : isWhole ? frameBytes : LARGE_JSON_BYTES;
    if (!window.has(offset, wanted) && !(await window.load(offset, wanted))) return 'unclean';
    if (!isChunk && isWhole) {
      const payload = window.slice(offset + FRAME_HEADER_BYTES, payloadBytes);
      if (crc32(payload) >>> 0 !== window.u32(offset + 4)) return 'unclean';
    }
    const content = window.slice(offset + HEAD_BYTES, wanted - HEAD_BYTES);
    if (visit({ type, offset, sizeBytes: frameBytes, content, isWhole }) === false) return 'whole';
    offset += frameBytes;
  }
  return 'whole';
}

/** Whether a file begins as a segment of the version that can be rewritten. */
export function isKnownHeader(header: Buffer): boolean {
  return (
    header.toString('latin1', 0, SEGMENT_MAGIC.length) === SEGMENT_MAGIC &&
    header.readUInt32LE(SEGMENT_MAGIC.length) === SEGMENT_VERSION
  );
}

/** A block of the file that moves forward. */
class Window {
  readonly #file: FileHandle;
  readonly #sizeBytes: number;
  readonly #pace: Pace;
  #block: Buffer;
  #start = 0;
  #length = 0;

  constructor(file: FileHandle, sizeBytes: number, pace: Pace) {
    this.#file = file;
    this.#sizeBytes = sizeBytes;
    this.#pace = pace;
    this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, Math.max(1, sizeBytes)));
  }

  has(offset: number, length: number): boolean {
    return offset >= this.#start && offset + length <= this.#start + this.#length;
  }

  /** Makes a stretch be there; false where the file ends before. */
  async load(offset: number, length: number): Promise<boolean> {
    if (offset + length > this.#sizeBytes) return false;
    if (length > this.#block.length) this.#block = Buffer.allocUnsafeSlow(length);
    this.#start = offset;
    this.#length = 0;
    const wanted = Math.min(this.#block.length, this.#sizeBytes - offset);
    while (this.#length < length) {
      const { bytesRead } = await this.#pace.io(
        this.#file.read(this.#block, this.#length, wanted - this.#length, offset + this.#length),
      );
      if (bytesRead === 0) return false;
      this.#length += bytesRead;
    }
    return true;
  }

  u8(offset: number): number {
    return this.#block[offset - this.#start] ?? 0;
  }

  u32(offset: number): number {
    return this.#block.readUInt32LE(offset - this.#start);
  }

  slice(offset: number, length: number): Buffer {
    return this.#block.subarray(offset - this.#start, offset - this.#start + length);
  }
}
