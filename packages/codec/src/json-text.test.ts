import { expect, test } from 'vitest';
import { withJsonOf } from './json-text.ts';

const everyCharacter = Array.from({ length: 0x900 }, (_, code) => String.fromCharCode(code)).join('');
const texts: [name: string, text: string][] = [
  ['short', 'An "orange" is round.\n'],
  ['ASCII', 'An orange is round. '.repeat(20_000)],
  ['every character of nine code pages', everyCharacter.repeat(20)],
  ['nothing but escapes', '\u0000'.repeat(100_000)],
  ['pairs at every place where it is cut', `x${'🍊'.repeat(20_000)}`],
  ['pairs that end where it is cut', '🍊'.repeat(20_000)],
  ['a lone surrogate', `${'a'.repeat(9000)}\ud800${'b'.repeat(9000)}`],
  ['a lone surrogate at the end', `${'a'.repeat(8191)}\ud83c`],
];

test.each(texts)('the bytes are those of JSON.stringify: %s', (_, text) => {
  for (const head of ['', 'ä\nuser ', 'x'.repeat(10_000)]) {
    const bytes = Buffer.from(withJsonOf(head, text) as string);
    expect(bytes.equals(Buffer.from(head + JSON.stringify(text)))).toBe(true);
  }
});
