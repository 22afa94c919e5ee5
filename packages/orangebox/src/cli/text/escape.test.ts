import { describe, expect, it } from 'vitest';
import { escapeLine, escapeText, safeJson } from './escape.ts';

/** Code points that a terminal acts on or a reader cannot see. */
const HOSTILE = [
  ['an escape sequence', '\x1b[2J\x1b[H', '\\x1b[2J\\x1b[H'],
  ['a window title', '\x1b]0;owned\x07', '\\x1b]0;owned\\x07'],
  ['a clipboard write', '\x1b]52;c;aGk=\x1b\\', '\\x1b]52;c;aGk=\\x1b\\'],
  ['an eight-bit CSI', '\x9b31m', '\\x9b31m'],
  ['a carriage return', 'safe\rrm', 'safe\\rrm'],
  ['a backspace', 'a\b\bb', 'a\\x08\\x08b'],
  ['a right-to-left override', 'gpj.\u202eexe', 'gpj.\\u202eexe'],
  ['an isolate', '\u2066x\u2069', '\\u2066x\\u2069'],
  ['invisible tag letters', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['a zero-width space', 'a\u200bb', 'a\\u200bb'],
  ['a lone surrogate', 'a\ud800b', 'a\\ud800b'],
  ['a null', 'a\0b', 'a\\x00b'],
] as const;

describe('escaping recorded text', () => {
  for (const [what, text, shown] of HOSTILE) {
    it(`shows ${what} instead of carrying it out`, () => {
      expect(escapeText(text)).toBe(shown);
      expect(escapeLine(text)).toBe(shown);
    });

    it(`keeps ${what} out of JSON output while the value stays equal`, () => {
      const json = safeJson({ text });
      expect(json).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ud800]/u);
      expect(JSON.parse(json)).toEqual({ text });
    });
  }

  it('says of a value that nests too deep that it does, instead of failing', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(JSON.parse(safeJson(deep))).toBe('(nested too deep to show)');
  });

  it('leaves ordinary text of every script and emoji alone', () => {
    const text = 'Grüße, 世界, עברית, हिन्दी, 👩‍👩‍👧 — “ok”';
    expect(escapeText(text)).toBe(text);
  });

  it('keeps newlines and tabs of a paragraph and shows them in a line', () => {
    expect(escapeText('a\r\n\tb\nc')).toBe('a\n  b\nc');
    expect(escapeLine('a\n\tb')).toBe('a\\n\\tb');
  });
});
