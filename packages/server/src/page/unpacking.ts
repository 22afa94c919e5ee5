/** How many bytes a page unpacks: a small recording may hold bodies that unpack to gigabytes. */
import type { ContentDecoder } from '@orangebox/codec';
import { decodeContent, decodeStart } from '@orangebox/store';

/** Bytes of one body that are unpacked to be shown: what is cut at 20,000 characters needs no more. */
const SHOWN_MAX_BYTES = 1024 * 1024;

/** Bytes that all bodies shown on a page unpack to. */
const PAGE_MAX_BYTES = 8 * SHOWN_MAX_BYTES;

/** Bytes that a body unpacks to which is parsed for the conversation, and all of a page. */
const PARSED_MAX_BYTES = 16 * 1024 * 1024;
const PAGE_PARSED_MAX_BYTES = 2 * PARSED_MAX_BYTES;

/** The beginning of a body. */
export interface Unpacked {
  bytes: Uint8Array;
  /** There is more of it. */
  cut: boolean;
}

/** What one page may unpack. */
export class Unpacking {
  #left = PAGE_MAX_BYTES;
  #leftToParse = PAGE_PARSED_MAX_BYTES;
  #unread = 0;

  /** Bodies that were not read for the conversation: damaged, of an unknown coding, or too large. */
  get unread(): number {
    return this.#unread;
  }

  /** The page shows no more bodies. */
  get spent(): boolean {
    return this.#left <= 0;
  }

  /** Decodes whole bodies for the views, as long as they are not too large. */
  readonly whole: ContentDecoder = (coding, bytes) => {
    const max = Math.min(PARSED_MAX_BYTES, this.#leftToParse);
    const plain = max > 0 ? decodeContent(coding, bytes, max) : undefined;
    // What does not decode may have been unpacked up to the bound.
    this.#leftToParse -= plain?.length ?? max;
    if (plain === undefined) this.#unread += 1;
    return plain;
  };

  /** The beginning of a body, decoded where it has a coding; undefined when it does not decode. */
  async start(bytes: Uint8Array, coding: string | undefined): Promise<Unpacked | undefined> {
    const max = Math.min(SHOWN_MAX_BYTES, this.#left);
    if (coding === undefined) return { bytes: bytes.subarray(0, SHOWN_MAX_BYTES), cut: bytes.length > SHOWN_MAX_BYTES };
    const start = await decodeStart(coding, bytes, max);
    this.#left -= start?.bytes.length ?? 0;
    return start;
  }
}
