import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeContent } from './decode-content.ts';
import { decodeStart } from './decode-start.ts';

const TEXT = Buffer.from('what was said, '.repeat(10_000));
const ENCODED: [string, Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
  ['identity', TEXT],
];

describe.each(ENCODED)('a body in %s', (encoding, bytes) => {
  it('gives its first bytes and says that there are more', async () => {
    expect(await decodeStart(encoding, bytes, 1000)).toEqual({ bytes: TEXT.subarray(0, 1000), cut: true });
  });

  it('gives all that there is', async () => {
    expect(await decodeStart(encoding, bytes, TEXT.length)).toEqual({ bytes: TEXT, cut: false });
  });

  it('gives what came of it where it was cut, as decodeContent does', async () => {
    const half = bytes.subarray(0, bytes.length / 2);
    const whole = decodeContent(encoding, half);
    expect((await decodeStart(encoding, half, TEXT.length))?.bytes.length).toBe(whole?.length);
  });
});

it('gives nothing of bytes that do not decode, of encodings that it does not know, and of many', async () => {
  for (const encoding of ['gzip', 'deflate', 'rot13', 'gzip,gzip,gzip,gzip,gzip,gzip'])
    expect(await decodeStart(encoding, Buffer.from('plain text'), 100), encoding).toBeUndefined();
});

it('unpacks no more of a bomb than was asked for', async () => {
  const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024), { level: 1 });
  const began = process.memoryUsage().rss;
  expect(await decodeStart('gzip', bomb, 1000)).toMatchObject({ cut: true });
  expect(process.memoryUsage().rss - began).toBeLessThan(64 * 1024 * 1024);
  expect(decodeContent('gzip', bomb, 1000)).toBeUndefined();
});
