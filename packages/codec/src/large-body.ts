/** Large bodies: what a snapshot and its digest need of them, without ever holding one whole. */
import type { Body } from '@orangebox/schema';
import { concatBytes, toBase64, utf8Text } from './bytes.ts';
import { escapeBytes } from './json-escapes.ts';

/** Bodies above this size are read piece by piece. */
export const LARGE_BODY_MIN_BYTES: number = 1024 * 1024;

/** A SHA-256 that takes its bytes bit by bit. */
export interface RunningSha256 {
  update(bytes: Uint8Array): void;
  /** 64 lower-case hex digits; called once. */
  hex(): string;
}

/** What is known of a body that was read through once. */
export interface BodyFacts {
  sizeBytes: number;
  /** Hex SHA-256 of its bytes. */
  sha256: string;
  /** Valid UTF-8, so that it is stored as text. */
  isText: boolean;
  /** UTF-8 bytes that its stored form takes as JSON. */
  jsonBytes: number;
}

/** A body of which the bytes are read again whenever they are needed. */
export interface LargeBody extends BodyFacts {
  /** Its bytes in order. A piece is valid until the next one is asked for. @throws what reading them throws */
  pieces(): Iterable<Uint8Array>;
  /** Of each of its chunk records, where those stand without their bytes. */
  chunkSizes?: readonly number[];
}

/** Takes the bytes of a body in order and tells what there is to know of it. */
export class BodyMeasure {
  readonly #hash: RunningSha256;
  readonly #utf8 = new Utf8Check();
  #escapeBytes = 0;
  sizeBytes = 0;

  constructor(hash: RunningSha256) {
    this.#hash = hash;
  }

  update(bytes: Uint8Array): void {
    this.sizeBytes += bytes.length;
    this.#hash.update(bytes);
    if (!this.#utf8.isValid) return;
    this.#utf8.update(bytes);
    this.#escapeBytes += escapeBytes(bytes);
  }

  end(): BodyFacts {
    const { sizeBytes } = this;
    const isText = this.#utf8.end();
    const textBytes = isText ? sizeBytes + this.#escapeBytes : Math.ceil(sizeBytes / 3) * 4;
    return {
      sizeBytes,
      sha256: this.#hash.hex(),
      isText,
      jsonBytes: bodyHead(sizeBytes, isText).length + textBytes + 2,
    };
  }
}

/** The JSON of a large body up to its text; a quote and a brace come after that. */
export function bodyHead(sizeBytes: number, isText: boolean): string {
  return isText
    ? `{"form":"text","sizeBytes":${sizeBytes},"text":"`
    : `{"form":"base64","sizeBytes":${sizeBytes},"base64":"`;
}

/**
 * The body of a snapshot that stands for a large one. Whoever reads its text makes the whole of it: that is for readers which have
 * no other way.
 */
export function standForLargeBody(large: LargeBody): Body {
  const { sizeBytes } = large;
  const all = (): Uint8Array => concatBytes(Array.from(large.pieces(), (piece) => new Uint8Array(piece)));
  if (!large.isText) {
    return {
      form: 'base64',
      sizeBytes,
      get base64() {
        return toBase64(all());
      },
    };
  }
  return {
    form: 'text',
    sizeBytes,
    get text() {
      return utf8Text(all()) ?? '';
    },
  };
}

/** Whether bytes that come in pieces are valid UTF-8. */
class Utf8Check {
  isValid = true;
  /** The beginning of a character whose end is in the next piece. */
  #begun: Uint8Array = new Uint8Array(0);

  update(bytes: Uint8Array): void {
    if (!this.isValid || bytes.length === 0) return;
    let from = 0;
    if (this.#begun.length > 0) {
      from = Math.min(characterBytes(this.#begun[0] ?? 0) - this.#begun.length, bytes.length);
      const joined = concatBytes([this.#begun, bytes.subarray(0, from)]);
      if (joined.length < characterBytes(joined[0] ?? 0)) {
        this.#begun = joined;
        return;
      }
      this.isValid = utf8Text(joined) !== undefined;
    }
    const to = Math.max(from, wholeCharacters(bytes));
    this.isValid &&= utf8Text(bytes.subarray(from, to)) !== undefined;
    // A `slice` of Node's Buffer is no copy.
    this.#begun = new Uint8Array(bytes.subarray(to));
  }

  end(): boolean {
    return this.isValid && this.#begun.length === 0;
  }
}

/** Bytes of the character that a lead byte begins; 1 for what is none. */
function characterBytes(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}

/** Where the last character begins when it is not whole, else the end. */
function wholeCharacters(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let at = end - 1; at >= Math.max(0, end - 3); at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) return end;
    if (byte >= 0xc0) return characterBytes(byte) > end - at ? at : end;
  }
  return end;
}
