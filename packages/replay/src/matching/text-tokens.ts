/** Text in pieces that are values or words as a whole, so that a value is never compared in part. */

/** What a piece of text can be. */
export type TokenKind = 'uuid' | 'time' | 'number' | 'word' | 'other';

/** A piece of a text. */
export interface Token {
  kind: TokenKind;
  text: string;
}

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}';
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const CLOCK = '\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?:[ \\u202f][AP]M)?';
const ZONE = '(?:Z|[+-]\\d{2}:?\\d{2})';

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9a-zA-Z])';
const TIMES = [
  // 2026-07-30T10:00:00.000Z, 2026-07-30 10:00, 2026-07-30
  `\\d{4}-\\d{2}-\\d{2}(?:[T ]${CLOCK}${ZONE}?)?(?![\\d-])`,
  // Thu Jul 30 2026 10:00:00 GMT+0000 (Coordinated Universal Time)
  `${DAY} ${MONTH} \\d{2} \\d{4}(?: ${CLOCK} GMT[+-]\\d{4}(?: \\([A-Za-z ]{1,60}\\))?)?`,
  // Thu, 30 Jul 2026 10:00:00 GMT
  `${DAY}, \\d{2} ${MONTH} \\d{4} ${CLOCK} GMT`,
  // Thursday, July 30, 2026 at 10:00 AM; Jul 30, 2026
  `(?:${DAY}, )?${MONTH} \\d{1,2}, \\d{4}(?:(?:,| at) ${CLOCK})?`,
  // 7/30/2026, 4:05:01 PM
  `\\d{1,2}/\\d{1,2}/\\d{4}(?:, ${CLOCK})?(?![\\d/])`,
  `${CLOCK}(?![\\d:])`,
];
/** A number that is no part of a word; a unit may follow it at once. */
const NUMBER = '\\d+(?:\\.\\d+)?(?=(?:ns|us|µs|ms|s|sec|min|m|h)?(?![0-9a-zA-Z_]))';
const WORD = '[0-9a-zA-Z]+';

const TOKEN = new RegExp(`(${UUID})|(${TIMES.map((time) => `(?:${time})`).join('|')})|(${NUMBER})|(${WORD})|[^]`, 'y');
const KINDS: readonly TokenKind[] = ['uuid', 'time', 'number', 'word'];

/** The token that begins at a place within a text. */
export function tokenAt(text: string, at: number): Token {
  TOKEN.lastIndex = at;
  const found = TOKEN.exec(text);
  if (found === null) return { kind: 'other', text: text.slice(at, at + 1) };
  const group = found.findIndex((part, i) => i > 0 && part !== undefined);
  return { kind: KINDS[group - 1] ?? 'other', text: found[0] };
}
