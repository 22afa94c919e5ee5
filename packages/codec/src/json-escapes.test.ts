import { expect, test } from 'vitest';
import { escapeBytes, escapedText } from './json-escapes.ts';

const ESCAPED_CHARACTERS = [
  '"',
  '\\',
  '\n',
  '\u0000',
  '\u001f',
  '\u007f',
  '!',
  '#',
  '[',
  ']',
  '\u0020',
  'é',
  '’',
  '🍊',
];

test.each(ESCAPED_CHARACTERS)('bytes are escaped as JSON.stringify does, wherever one stands: %j', (character) => {
  for (let length = 0; length < 80; length++) {
    for (const at of [0, 1, 2, 3, 4, 5, 31, 32, 33, 60, length]) {
      const text = 'a'.repeat(Math.min(at, length)) + character + 'b'.repeat(Math.max(0, length - at)) + character;
      const whole = Buffer.from(`xxx${text}`);
      for (let unaligned = 0; unaligned < 4; unaligned++) {
        const bytes = new Uint8Array(whole.length + unaligned - 3);
        bytes.set(whole.subarray(3), unaligned);
        const view = bytes.subarray(unaligned);
        const expected = Buffer.from(JSON.stringify(text).slice(1, -1));
        expect(Buffer.from(escapedText(view)).equals(expected)).toBe(true);
        expect(escapeBytes(view)).toBe(expected.length - view.length);
      }
    }
  }
});
