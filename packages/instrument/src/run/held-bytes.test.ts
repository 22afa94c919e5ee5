import { expect, it } from 'vitest';
import { HeldBytes, MAX_CHILD_BYTES, MAX_CHILD_PIECES } from './held-bytes.ts';

it('small pieces are bounded by their number, and nothing is kept behind a gap', () => {
  const beyond: string[] = [];
  const held = new HeldBytes((bound) => void beyond.push(bound));
  const byte = Buffer.from('x');
  for (let i = 0; i < MAX_CHILD_PIECES; i++) expect(held.keep(byte)?.length).toBe(1);
  expect([held.keep(byte), held.keep(byte)]).toEqual([undefined, undefined]);
  expect(beyond).toEqual(['100,000 pieces']);
});

it('a piece that is too large is kept as far as it fits', () => {
  const beyond: string[] = [];
  const held = new HeldBytes((bound) => void beyond.push(bound));
  expect(held.keep(Buffer.alloc(MAX_CHILD_BYTES - 1))).toHaveLength(MAX_CHILD_BYTES - 1);
  expect(held.keep(Buffer.from('abc'))?.toString()).toBe('a');
  expect(held.keep(Buffer.from('d'))).toBeUndefined();
  expect(beyond).toEqual(['16 MiB']);
});
