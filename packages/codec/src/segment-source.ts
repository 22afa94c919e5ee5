/** Random access to a segment's bytes, so that a reader need not hold or even read a whole file. */
import { EMPTY_BYTES } from './bytes.ts';

/** Where segment bytes come from. A file that still grows is read up to the size it had. */
export interface SegmentSource {
  /** Bytes there are. */
  sizeBytes: number;
  /** Bytes from `offset`, `length` of them or fewer at the end. May be a view; it is not written to. */
  read(offset: number, length: number): Uint8Array;
}

/** Bytes read ahead at a time. */
const WINDOW_BYTES = 256 * 1024;

/** A window on a source that moves forward with the reader. */
export class SegmentWindow {
  readonly sizeBytes: number;
  /** Bytes of the present window. */
  bytes: Uint8Array = EMPTY_BYTES;
  view: DataView = new DataView(EMPTY_BYTES.buffer);
  /** Offset of the window's first byte in the source. */
  start = 0;
  readonly #source: SegmentSource | undefined;

  constructor(source: SegmentSource | Uint8Array) {
    if (source instanceof Uint8Array) {
      this.#source = undefined;
      this.sizeBytes = source.length;
      this.#set(source, 0);
    } else {
      this.#source = source;
      this.sizeBytes = source.sizeBytes;
    }
  }

  /** Makes `[offset, offset + length)` lie in the window; false when the source ends before. */
  load(offset: number, length: number): boolean {
    if (offset + length > this.sizeBytes) return false;
    if (offset >= this.start && offset + length <= this.start + this.bytes.length) return true;
    if (!this.#source) return false;
    const wanted = Math.min(Math.max(length, WINDOW_BYTES), this.sizeBytes - offset);
    this.#set(this.#source.read(offset, wanted), offset);
    return this.bytes.length >= length;
  }

  /** A view of loaded bytes; call {@link load} first. */
  slice(offset: number, length: number): Uint8Array {
    return this.bytes.subarray(offset - this.start, offset - this.start + length);
  }

  /** Little-endian u32 of loaded bytes. */
  u32(offset: number): number {
    return this.view.getUint32(offset - this.start, true);
  }

  #set(bytes: Uint8Array, start: number): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.start = start;
  }
}
