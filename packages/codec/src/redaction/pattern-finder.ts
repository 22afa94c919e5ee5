/** Finds what the user's patterns (`ORANGEBOX_REDACT`) match. */
import { utf8, utf8Text } from '../bytes.ts';
import type { Edit, Finder, Pending } from './finder.ts';
import type { TokenBook } from './tokens.ts';

/**
 * A match of up to this many bytes is found wherever the borders of chunks fall. Bytes are therefore held until this
 * many have followed them, or the body ends.
 */
export const PATTERN_WINDOW_BYTES = 1024;

const LATIN1 = new TextDecoder('latin1');

/** A pattern made ready to be run over text again and again. */
export interface ReadyPattern {
  regexp: RegExp;
  /** Name for tokens. */
  name: string;
}

/** Copies patterns with the flags that searching needs. */
export function readyPatterns(patterns: readonly RegExp[]): ReadyPattern[] {
  return patterns.map((pattern, i) => ({
    regexp: new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, '')}g`),
    name: `pattern${i + 1}`,
  }));
}

/** A match in text, `[start, end)` in UTF-16 code units. */
export interface PatternHit {
  start: number;
  end: number;
  token: string;
}

/** All matches of all patterns in a text. Empty matches do not count. */
export function patternHits(patterns: readonly ReadyPattern[], text: string, tokens: TokenBook): PatternHit[] {
  const hits: PatternHit[] = [];
  for (const { regexp, name } of patterns) {
    for (const match of text.matchAll(regexp)) {
      const value = match[0];
      if (value === '' || value.includes('{{secret:')) continue;
      hits.push({ start: match.index, end: match.index + value.length, token: tokens.token(name, value) });
    }
  }
  return hits;
}

/** Runs the patterns over pending bytes, read as UTF-8 where they are, else byte by byte. */
export class PatternFinder implements Finder {
  readonly #patterns: readonly ReadyPattern[];
  readonly #tokens: TokenBook;
  #from = 0;

  constructor(patterns: readonly ReadyPattern[], tokens: TokenBook) {
    this.#patterns = patterns;
    this.#tokens = tokens;
  }

  scan(pending: Pending, edits: Edit[]): number {
    const { size, final } = pending;
    let decided = final ? size : Math.max(this.#from, size - PATTERN_WINDOW_BYTES);
    if (decided === this.#from && !final) return decided;
    const from = wholeCharacter(pending.bytes, this.#from, size);
    const to = final ? size : wholeCharacter(pending.bytes, size - 1, size);
    const bytes = pending.bytes.subarray(from, Math.max(from, to));
    const text = utf8Text(bytes);
    const hits = patternHits(this.#patterns, text ?? LATIN1.decode(bytes), this.#tokens);
    for (const hit of hits) {
      const start = from + (text === undefined ? hit.start : utf8(text.slice(0, hit.start)).length);
      const end = from + (text === undefined ? hit.end : utf8(text.slice(0, hit.end)).length);
      if (start >= decided && !final) continue;
      edits.push({ start, end, token: hit.token });
    }
    for (const edit of edits) if (edit.start < decided && edit.end > decided) decided = edit.end;
    this.#from = decided;
    return decided;
  }

  shift(sizeBytes: number): void {
    this.#from = Math.max(0, this.#from - sizeBytes);
  }
}

/** The first position at or after `at` (within 3 bytes) where a UTF-8 character begins. */
function wholeCharacter(bytes: Uint8Array, at: number, size: number): number {
  let position = Math.max(0, at);
  while (position < size && position < at + 3 && ((bytes[position] ?? 0) & 0xc0) === 0x80) position++;
  return position;
}
