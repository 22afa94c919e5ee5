/** Text in JSON, from and to UTF-8 bytes: how much longer it gets, and what it is then. */
import { utf8 } from './bytes.ts';

/** Bytes that JSON takes beyond a byte of text: control characters, quotes and backslashes are escaped. */
const ESCAPE_BYTES: Uint8Array = new Uint8Array(256).fill(5, 0, 0x20);
for (const char of '\b\t\n\f\r"\\') ESCAPE_BYTES[char.charCodeAt(0)] = 1;
/** What stands for such a byte. */
const ESCAPED: Uint8Array[] = [];
for (let code = 0; code <= 0x5c; code++) {
  if (ESCAPE_BYTES[code] !== 0) ESCAPED[code] = utf8(JSON.stringify(String.fromCharCode(code)).slice(1, -1));
}

const NO_WORDS = new Int32Array(0);

/** Bytes by which escapes make a text longer, counted four bytes at a time: most of them need none. */
export function escapeBytes(bytes: Uint8Array): number {
  const escapes = ESCAPE_BYTES as ArrayLike<number> as number[];
  // Words begin at multiples of four, which a view that is shorter than one may not reach.
  const unaligned = -bytes.byteOffset & 3;
  const start = bytes.length < unaligned ? bytes.length : unaligned;
  const words =
    start < unaligned ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + start, (bytes.length - start) >> 2);
  let sum = 0;
  for (let i = 0; i < start; i++) sum += ESCAPE_BYTES[bytes[i] ?? 0] ?? 0;
  for (let i = 0; i < words.length; i++) {
    const word = (words as ArrayLike<number> as number[])[i] as number;
    if (!mayNeedEscape(word)) continue;
    sum += (escapes[word & 255] as number) + (escapes[(word >> 8) & 255] as number);
    sum += (escapes[(word >> 16) & 255] as number) + (escapes[word >>> 24] as number);
  }
  for (let i = start + words.length * 4; i < bytes.length; i++) sum += ESCAPE_BYTES[bytes[i] ?? 0] ?? 0;
  return sum;
}

/** UTF-8 text as it stands between the quotes of a JSON string: what `JSON.stringify` makes of it. */
export function escapedText(bytes: Uint8Array): Uint8Array {
  const more = escapeBytes(bytes);
  if (more === 0) return bytes;
  const out = new Uint8Array(bytes.length + more);
  escapeInto(bytes, out, 0);
  return out;
}

/** Runs without an escape that are longer are copied by the platform. */
const COPIED_AT_ONCE_MIN_BYTES = 32;

/** Writes {@link escapedText} to a place that has room for it; gives the position after it. */
export function escapeInto(bytes: Uint8Array, out: Uint8Array, start: number): number {
  const end = bytes.length;
  const unaligned = -bytes.byteOffset & 3;
  const words =
    end < unaligned ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + unaligned, (end - unaligned) >> 2);
  let at = start;
  let i = 0;
  while (i < end) {
    const from = i;
    while (i < end && ESCAPE_BYTES[bytes[i] as number] === 0) {
      i++;
      if (((i - unaligned) & 3) !== 0 || i < unaligned) continue;
      i = unaligned + 4 * wordWithEscape(words, (i - unaligned) >> 2);
    }
    if (i - from >= COPIED_AT_ONCE_MIN_BYTES) {
      out.set(bytes.subarray(from, i), at);
      at += i - from;
    } else for (let k = from; k < i; k++) out[at++] = bytes[k] as number;
    if (i === end) break;
    const escaped = ESCAPED[bytes[i++] as number] as Uint8Array;
    for (let k = 0; k < escaped.length; k++) out[at++] = escaped[k] as number;
  }
  return at;
}

/** The first word, from one on, that may hold what is escaped; else their number. */
function wordWithEscape(words: Int32Array, from: number): number {
  let i = from;
  while (i < words.length && !mayNeedEscape((words as ArrayLike<number> as number[])[i] as number)) i++;
  return i;
}

/** The highest bit of a byte is set where it is a control character, a quote or a backslash (and seldom elsewhere). */
function mayNeedEscape(word: number): boolean {
  const quotes = word ^ 0x22222222;
  const slashes = word ^ 0x5c5c5c5c;
  const found = ((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
  return (found & 0x80808080) !== 0;
}
