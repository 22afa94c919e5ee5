import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha256Of } from './payload.ts';

const MIB = 1024 * 1024;

it.each([0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3 * MIB + 7])('hashes %i bytes', async (size) => {
  const bytes = new Uint8Array(size).map((_, i) => i * 31);
  expect(await sha256Of(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
});

it('hashes many bytes without a copy of them, which no account of memory would know', async () => {
  // Written to, so that all of it is in memory before.
  const bytes = new Uint8Array(192 * MIB).fill(1);
  const before = process.memoryUsage().rss;
  const hash = sha256Of(bytes);
  const grown = process.memoryUsage().rss - before;
  expect(await hash).toMatch(/^[0-9a-f]{64}$/);
  expect(grown).toBeLessThan(64 * MIB);
});

it('lets others go on between the slices of many bytes', async () => {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await sha256Of(new Uint8Array(8 * MIB));
  done = true;
  expect(turns).toBeGreaterThan(20);
});
