/**
 * Finding one's way in JSON text that may itself stand in JSON strings, without parsing it. A quote that ends or
 * begins a string at depth d has 2^d - 1 backslashes before it, and 2^(d+1) more for each backslash that the string
 * ends with; so the trailing one bits of their number tell the depth.
 */

/** `"` */
export const QUOTE = 0x22;
/** `\` */
export const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;

/** Number of backslashes right before a position. */
export function backslashesBefore(bytes: Uint8Array, at: number): number {
  let count = 0;
  while (at - count > 0 && bytes[at - count - 1] === BACKSLASH) count++;
  return count;
}

/** Depth of the string that a quote after this many backslashes delimits: 0 for JSON itself, 1 for JSON in a string. */
export function quoteDepth(backslashes: number): number {
  let depth = 0;
  for (let bits = backslashes; bits & 1; bits >>= 1) depth++;
  return depth;
}

/** Whether a byte is JSON white space. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Where a string's content ends: found there, not yet to be seen, or searched up to. */
export type StringEnd = { end: number } | { searched: number };

/**
 * The end of the string content at a depth, searched from `from` (at or after its beginning). A raw line break or the
 * end of the string around it ends it too: then the text is malformed or was cut, and what follows is not its content.
 */
export function stringEnd(bytes: Uint8Array, from: number, size: number, depth: number): StringEnd {
  const delimiter = 2 ** depth - 1;
  for (let at = from; at < size; at++) {
    const byte = bytes[at];
    if (byte === NEWLINE) return { end: at };
    if (byte !== QUOTE) continue;
    const backslashes = backslashesBefore(bytes, at);
    const found = quoteDepth(backslashes);
    if (found === depth) return { end: at - delimiter };
    if (found < depth) return { end: at - backslashes };
  }
  // Backslashes at the end may belong to a delimiter that is still to come.
  return { searched: size };
}

/** Content of a string at a depth as the program would see it; the raw text where it does not parse. */
export function unescape(text: string, depth: number): string {
  if (!text.includes('\\')) return text;
  let value = text;
  for (let i = 0; i <= depth; i++) {
    try {
      const parsed: unknown = JSON.parse(`"${value}"`);
      if (typeof parsed !== 'string') return text;
      value = parsed;
    } catch {
      return text;
    }
  }
  return value;
}
