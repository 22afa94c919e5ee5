/** Looks for marks in bytes, in every form, also within what is compressed or base64 in them. */
import { brotliDecompressSync, inflateRawSync, inflateSync } from 'node:zlib';
import { formsOf, type Mark } from './marks.ts';

/** A mark that was found. */
export interface Sighting {
  mark: Mark;
  /** How it was spelt there. */
  form: string;
}

interface Needle {
  mark: Mark;
  form: string;
  bytes: Buffer;
}

const UNPACKED_MAX_BYTES = 256 * 1024 * 1024;
const DEPTH_MAX = 4;
const BASE64_RUN = /[A-Za-z0-9+/_-]{64,}={0,2}/g;

/** Finds the marks of one audit. */
export class MarkFinder {
  /** Needles by their first four bytes, so that one pass finds all of them. */
  readonly #needles: Map<number, Needle[]> = new Map();
  readonly #beginnings: Uint8Array = new Uint8Array(65_536);

  constructor(marks: readonly Mark[]) {
    for (const mark of marks) {
      for (const [form, bytes] of formsOf(mark)) {
        if (bytes.length < 4) continue;
        this.#beginnings[bytes.readUInt16LE(0)] = 1;
        const start = bytes.readUInt32LE(0);
        const same = this.#needles.get(start);
        if (same) same.push({ mark, form, bytes });
        else this.#needles.set(start, [{ mark, form, bytes }]);
      }
    }
  }

  /** Every mark in the bytes, once each, in the plainest of its forms. */
  find(bytes: Uint8Array): Sighting[] {
    const found = new Map<Mark, Sighting>();
    this.#look(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), '', 0, found);
    return [...found.values()];
  }

  #look(bytes: Buffer, within: string, depth: number, found: Map<Mark, Sighting>): void {
    this.#pass(bytes, within, found);
    if (depth >= DEPTH_MAX) return;
    for (const { bytes: inner, name } of unpacked(bytes)) this.#look(inner, `${name}, `, depth + 1, found);
  }

  #pass(bytes: Buffer, within: string, found: Map<Mark, Sighting>): void {
    const last = bytes.length - 4;
    for (let at = 0; at <= last; at += 1) {
      if (this.#beginnings[(bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)] === 0) continue;
      const needles = this.#needles.get(bytes.readUInt32LE(at));
      if (!needles) continue;
      for (const { mark, form, bytes: needle } of needles) {
        const known = found.get(mark);
        if (known && known.form !== 'a piece') continue;
        if (bytes.compare(needle, 0, needle.length, at, Math.min(at + needle.length, bytes.length)) !== 0) continue;
        if (!known || form !== 'a piece') found.set(mark, { mark, form: within + form });
      }
    }
  }
}

/** What is compressed or base64 within bytes. */
function* unpacked(bytes: Buffer): Generator<{ name: string; bytes: Buffer }> {
  for (let at = bytes.indexOf(GZIP); at >= 0; at = bytes.indexOf(GZIP, at + 1)) {
    const inner = tryTo(() => inflateRawSync(bytes.subarray(at + gzipHeadBytes(bytes, at)), LENIENT));
    if (inner !== undefined && inner.length > 0) yield { name: 'gzip', bytes: inner };
  }
  for (const [run] of bytes.toString('latin1').matchAll(BASE64_RUN)) {
    // What stands before it, a length byte for one, may look like a part of it.
    for (let skip = 0; skip < 4; skip += 1) {
      const inner = Buffer.from(run.slice(skip), 'base64');
      if (looksPacked(inner)) yield { name: 'base64', bytes: inner };
    }
  }
}

const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);
const [HEAD_CRC, EXTRA, NAME, COMMENT] = [2, 4, 8, 16];

/** Bytes before the compressed ones: gzip itself refuses what has other bytes behind it, as within a larger message. */
function gzipHeadBytes(bytes: Buffer, from: number): number {
  const flags = bytes[from + 3] ?? 0;
  let at = from + 10;
  if (flags & EXTRA) at += 2 + bytes.readUInt16LE(at);
  for (const text of [NAME, COMMENT]) if (flags & text) at = bytes.indexOf(0, at) + 1;
  return at + (flags & HEAD_CRC ? 2 : 0) - from;
}

/** What was cut is unpacked as far as it goes. */
const LENIENT = { finishFlush: 2, maxOutputLength: UNPACKED_MAX_BYTES };

/** Base64 text of a mark itself is one of its forms; only what holds more is worth another look. */
function looksPacked(bytes: Buffer): boolean {
  return bytes.indexOf(GZIP) >= 0 || bytes.subarray(0, 4096).every((byte) => byte >= 9 && byte < 127);
}

/** A body that may be compressed without a sign of it, unpacked in every way that succeeds. */
export function unpackBody(body: Buffer): Buffer[] {
  return [brotliDecompressSync, inflateSync].flatMap((unpack) => {
    const inner = tryTo(() => unpack(body, { maxOutputLength: UNPACKED_MAX_BYTES }));
    return inner !== undefined && inner.length > 0 ? [inner] : [];
  });
}

function tryTo<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
