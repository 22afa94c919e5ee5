/** The JSON of a string as bytes: `JSON.stringify` makes a long one twice, as a string and as bytes of that. */
import { escapeInto } from './json-escapes.ts';

/** Shorter strings are written by the platform as soon. */
const LONG_MIN_LENGTH = 4 * 1024;
/** UTF-16 code units that are written at a time. */
const AT_ONCE = 8 * 1024;
/** An escape takes six bytes at most. */
const ESCAPE_MAX_BYTES = 6;
/** More than this is not held for the next time. */
const HELD_MAX_BYTES = 512 * 1024;

const ENCODER = new TextEncoder();
let piece: Uint8Array | undefined;
let held = new Uint8Array(0);

/** UTF-8 of `${head}${JSON.stringify(text)}`, as a string or as bytes that are valid until the next call. */
export function withJsonOf(head: string, text: string): string | Uint8Array {
  if (text.length < LONG_MIN_LENGTH || !isWellFormed(text)) return head + JSON.stringify(text);
  piece ??= new Uint8Array(AT_ONCE * 3);
  let out = withRoom(held, 0, text.length + head.length * 3 + 2);
  let at = ENCODER.encodeInto(`${head}"`, out).written;
  for (let from = 0; from < text.length; ) {
    const to = pieceEnd(text, from);
    const { written } = ENCODER.encodeInto(text.slice(from, to), piece);
    out = withRoom(out, at, written * ESCAPE_MAX_BYTES + 1);
    at = escapeInto(piece.subarray(0, written), out, at);
    from = to;
  }
  out[at++] = 0x22;
  if (out.length <= HELD_MAX_BYTES) held = out;
  return out.subarray(0, at);
}

/** `JSON.stringify` escapes lone surrogates, which have no bytes. False where the platform can't tell. */
function isWellFormed(text: string & { isWellFormed?(): boolean }): boolean {
  return text.isWellFormed?.() === true;
}

/** A surrogate pair is not cut. */
function pieceEnd(text: string, from: number): number {
  const end = from + AT_ONCE;
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

function withRoom(out: Uint8Array<ArrayBuffer>, at: number, sizeBytes: number): Uint8Array<ArrayBuffer> {
  if (out.length - at >= sizeBytes) return out;
  const larger = new Uint8Array(Math.max(2 * out.length, at + sizeBytes));
  larger.set(out.subarray(0, at));
  return larger;
}
