/** Finding member names in JSON text, cheaply: only names with a credential's ending are looked at. */
import { backslashesBefore, isSpace, QUOTE, quoteDepth } from './json-text.ts';

/** A member name in front of a colon. */
export interface JsonKey {
  /** Of the name's opening quote. */
  start: number;
  name: string;
  depth: number;
}

/** Longest name that is looked at. */
export const NAME_MAX_BYTES = 64;

/** White space between a name, its colon and its value is followed this far; nobody writes more. */
export const GAP_MAX_BYTES = 1024;

/** Endings of names that matter, lower case; a cheap test before any string is made. */
const ENDINGS = [
  'key',
  'token',
  'secret',
  'password',
  'passwd',
  'passphrase',
  'authorization',
  'cookie',
  'cookie2',
  'credential',
  'credentials',
  'string',
  'auth',
  'jwt',
  'pat',
  'headers',
].map((text) => [...text].map((char) => char.charCodeAt(0)).reverse());

const BY_LAST_BYTE: (number[][] | undefined)[] = [];
for (const reversed of ENDINGS) {
  const last = reversed[0] ?? 0;
  const others = BY_LAST_BYTE[last];
  if (others) others.push(reversed);
  else BY_LAST_BYTE[last] = [reversed];
}

const NAME_BYTE = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.$') {
  NAME_BYTE[char.charCodeAt(0)] = 1;
}

/** Whether a byte may stand in a name of interest. */
export function isNameByte(byte: number | undefined): boolean {
  return byte !== undefined && NAME_BYTE[byte] === 1;
}

function hasEnding(bytes: Uint8Array, end: number): boolean {
  const candidates = BY_LAST_BYTE[(bytes[end - 1] ?? 0) | 0x20];
  if (!candidates) return false;
  for (const reversed of candidates) {
    let i = 0;
    // Setting bit 5 makes letters lower case and leaves digits as they are.
    while (i < reversed.length && ((bytes[end - 1 - i] ?? 0) | 0x20) === reversed[i]) i++;
    if (i === reversed.length) return true;
  }
  return false;
}

/**
 * The name whose closing quote is the last thing but white space before `end`, if it may matter: a string of name
 * characters with one of the endings. `end` is a colon's position, or that of bytes still to come.
 */
export function keyBefore(bytes: Uint8Array, end: number): JsonKey | undefined {
  let quote = end - 1;
  if (bytes[quote] !== QUOTE) {
    while (quote > 0 && end - quote < GAP_MAX_BYTES && isSpace(bytes[quote])) quote--;
    if (bytes[quote] !== QUOTE) return undefined;
  }
  const backslashes = backslashesBefore(bytes, quote);
  const nameEnd = quote - backslashes;
  if (!hasEnding(bytes, nameEnd)) return undefined;
  const depth = quoteDepth(backslashes);
  // A name holds no backslash, so there are exactly those of the delimiter.
  if (backslashes !== 2 ** depth - 1) return undefined;
  let start = nameEnd;
  while (start > 0 && nameEnd - start <= NAME_MAX_BYTES && isNameByte(bytes[start - 1])) start--;
  if (start === 0 || bytes[start - 1] !== QUOTE) return undefined;
  let name = '';
  for (let i = start; i < nameEnd; i++) name += String.fromCharCode(bytes[i] ?? 0);
  return { start: start - 1, name, depth };
}

/**
 * Where a name may begin that the end of the bytes cuts off: at the last quote, if only name characters and perhaps
 * backslashes follow it, or at the opening quote of a whole name that only lacks its colon. `size` if nowhere.
 */
export function cutKeyAt(bytes: Uint8Array, from: number, size: number): number {
  const whole = keyBefore(bytes, size);
  if (whole) return Math.max(from, whole.start);
  let at = size - 1;
  while (at >= from && bytes[at] === 0x5c) at--;
  const nameEnd = at;
  while (at >= from && nameEnd - at <= NAME_MAX_BYTES && isNameByte(bytes[at])) at--;
  return at >= from && bytes[at] === QUOTE ? at : size;
}
