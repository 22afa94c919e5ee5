import { describe, expect, it } from 'vitest';
import { JsonNumber, losslessText, parseLossless } from './lossless-json.ts';

const round = (text: string): string | undefined => {
  const value = parseLossless(text);
  return value === undefined ? undefined : losslessText(value);
};

describe('JSON without loss', () => {
  const kept = [
    'null', 'true', 'false', '0', '-0.10e+2', '12345678901234567890', '""', '"\\u00e9\\ud83d\\ude00\\""', '[]', '{}',
    '[1,[2,[]],{}]', '{"a":{"b":[true,null]},"a":2,"":3,"__proto__":4,"1":5}',
  ]; // biome-ignore format: a list
  for (const text of kept) {
    it(`keeps ${text}`, () => expect(round(text)).toBe(text.replace('\\u00e9\\ud83d\\ude00', 'é😀')));
  }

  it('passes over white space', () => expect(round(' {\n\t"a" : [ 1 , 2 ] }\r\n')).toBe('{"a":[1,2]}'));

  for (const text of [
    '',
    '{',
    '[1,]',
    '01',
    'NaN',
    "{'a':1}",
    '"\n"',
    '{"a":1}x',
    '['.repeat(2000) + ']'.repeat(2000),
  ]) {
    it(`takes for no JSON: ${text.slice(0, 12)}`, () => expect(parseLossless(text)).toBeUndefined());
  }

  it('knows equal numbers by their value, to the last digit', () => {
    const canonical = (text: string): string => new JsonNumber(text).canonical;
    for (const one of ['1', '1.0', '10e-1', '0.1E1', '100e-2']) expect(canonical(one)).toBe(canonical('1'));
    for (const zero of ['0', '-0', '0.00', '0e9']) expect(canonical(zero)).toBe('0');
    expect(canonical('12345678901234567890')).not.toBe(canonical('12345678901234567891'));
    expect(canonical('1e400')).not.toBe(canonical('1e401'));
    expect(canonical('-1')).not.toBe(canonical('1'));
  });
});
