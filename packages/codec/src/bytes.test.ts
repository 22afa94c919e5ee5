import { expect, it } from 'vitest';
import { charPerByte, fromBase64, fromBase64Portable, toBase64, toBase64Portable } from './bytes.ts';

it('makes the same base64 with and without the platform, and takes the same', () => {
  for (let size = 0; size < 70; size++) {
    const whole = Uint8Array.from({ length: size + 3 }, (_, i) => (i * 89 + size * 31) & 255);
    const bytes = whole.subarray(3);
    const text = toBase64(bytes);
    expect(toBase64Portable(bytes)).toBe(text);
    expect(fromBase64(text)).toEqual(bytes);
    expect(fromBase64Portable(text)).toEqual(bytes);
  }
  const wrong = [
    'A',
    'AA',
    'AAA',
    'AB==',
    'AAB=',
    'AA=A',
    '====',
    'AA A',
    'AA\nA',
    'AA-_',
    'AAAA=',
    'AAA=AAAA',
    'é===',
    'AAAA\0',
  ];
  for (const text of wrong)
    expect([text, fromBase64(text), fromBase64Portable(text)]).toEqual([text, undefined, undefined]);
});

it('gives every byte one character', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const text = charPerByte(bytes);
  expect(text).toHaveLength(256);
  expect(text.slice(0, 128)).toBe(String.fromCharCode(...bytes.subarray(0, 128)));
});
