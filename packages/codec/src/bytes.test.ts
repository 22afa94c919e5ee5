import { expect, it } from 'vitest';
import { charPerByte, fromBase64, fromBase64Portable, toBase64, toBase64Portable, utf8Text } from './bytes.ts';

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

/** A text of ASCII with other characters, or bytes that are none, at a place. */
function around(at: number, middle: Uint8Array, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes).fill(0x61);
  bytes.set(middle, at);
  return bytes;
}

it('decodes long texts as the platform does, wherever a character stands and wherever the bytes begin', () => {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const middles = ['é', '’', '🍊', '\ufeff', 'ａｂ'.repeat(2000)].map((text) => new TextEncoder().encode(text));
  for (const middle of middles) {
    for (const at of [0, 1, 1021, 1022, 1023, 1024, 1025, 5000, 12_288 - middle.length - 1]) {
      for (let unaligned = 0; unaligned < 4; unaligned++) {
        const bytes = around(at + unaligned, middle, 20_000).subarray(unaligned);
        expect(utf8Text(bytes) === strict.decode(bytes)).toBe(true);
      }
    }
  }
});

it('takes no long text with a byte that is not UTF-8, wherever it stands', () => {
  const wrong = [[0x80], [0xff], [0xc3], [0xe2, 0x80], [0xf0, 0x9f, 0x8d], [0xc0, 0x80], [0xed, 0xa0, 0x80]];
  for (const middle of wrong) {
    for (const at of [0, 1, 1022, 1023, 1024, 2046, 9000, 10_000 - middle.length]) {
      expect(utf8Text(around(at, Uint8Array.from(middle), 10_000))).toBeUndefined();
    }
  }
});
