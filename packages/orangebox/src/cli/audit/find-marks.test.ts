import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MarkFinder, unpackBody } from './find-marks.ts';
import { type Mark, Marks } from './marks.ts';

const marks = new Marks();
for (const spelling of ['plain', 'url', 'json'] as const) marks.secret(spelling, spelling);
const control = marks.control('a control');
const finder = new MarkFinder(marks.all);

const twiceJson = (text: string): string => JSON.stringify(JSON.stringify({ text }));
const half = (text: string): string => text.slice(0, Math.ceil(text.length / 2));

/** Ways to hide a value in other bytes. */
const DISGUISES: { [name: string]: (value: string) => Uint8Array } = {
  plain: (value) => Buffer.from(`before ${value} after`),
  'within JSON in JSON': (value) => Buffer.from(twiceJson(value)),
  'in a URL': (value) => Buffer.from(`/path?x=${encodeURIComponent(value)}&y=1`),
  'base64, at its start': (value) => Buffer.from(Buffer.from(`${value} and more`).toString('base64')),
  'base64, one byte in': (value) => Buffer.from(Buffer.from(`x${value} and more`).toString('base64')),
  'base64, two bytes in': (value) => Buffer.from(Buffer.from(`xy${value} and more`).toString('base64')),
  base64url: (value) => Buffer.from(Buffer.from(value).toString('base64url')),
  hex: (value) => Buffer.from(Buffer.from(value).toString('hex')),
  'upper-case hex': (value) => Buffer.from(Buffer.from(value).toString('hex').toUpperCase()),
  'UTF-16': (value) => Buffer.from(value, 'utf16le'),
  'big-endian UTF-16': (value) => Buffer.from(value, 'utf16le').swap16(),
  backwards: (value) => Buffer.from([...value].reverse().join('')),
  'gzip within other bytes': (value) => Buffer.concat([Buffer.from('head'), gzipSync(value), Buffer.from('tail')]),
  'base64 of gzip': (value) => Buffer.from(gzipSync(`${'-'.repeat(40)}${value}`).toString('base64')),
  'base64 of gzip behind other letters': (value) =>
    Buffer.from(`d${gzipSync(`${'-'.repeat(40)}${value}`).toString('base64')}`),
  'gzip of base64 of gzip': (value) => gzipSync(gzipSync(`${'-'.repeat(40)}${value}`).toString('base64')),
  'its first half only': (value) => Buffer.from(half(value)),
  'its second half only': (value) => Buffer.from(value.slice(half(value).length)),
};

describe('the search for marks', () => {
  for (const [name, disguise] of Object.entries(DISGUISES)) {
    it(`finds a value ${name}, whatever characters it has`, () => {
      for (const { value, place, kind } of marks.all) {
        if (kind === 'control') continue;
        expect(finder.find(disguise(value)).map(({ mark }) => mark.place)).toEqual([place]);
      }
    });
  }

  it('finds several in one look, each once, and controls too', () => {
    const bytes = Buffer.from(`${marks.all.map(({ value }) => value).join(' ')} ${marks.all[0]?.value}`);
    expect(finder.find(bytes)).toHaveLength(marks.all.length);
    expect(finder.find(Buffer.from(control))[0]?.mark.kind).toBe('control');
  });

  it('finds nothing in other bytes', () => {
    const other = new Marks();
    for (let i = 0; i < 50; i += 1) other.secret(String(i));
    expect(finder.find(Buffer.from(other.all.map(({ value }) => value).join('\n')))).toEqual([]);
    expect(finder.find(new Uint8Array(3))).toEqual([]);
  });

  it('names the plainest form', () => {
    const { value } = marks.all[0] as Mark;
    expect(finder.find(Buffer.from(value))[0]?.form).toBe('plain');
    expect(finder.find(Buffer.from(half(value)))[0]?.form).toBe('a piece');
    expect(finder.find(gzipSync(value))[0]?.form).toBe('gzip, plain');
  });

  it('unpacks a body that says nothing of its encoding', () => {
    const { value } = marks.all[1] as Mark;
    expect(unpackBody(brotliCompressSync(value)).some((inner) => inner.includes(value))).toBe(true);
  });
});
