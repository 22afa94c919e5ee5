import { describe, expect, it } from 'vitest';
import { DrawReplay } from './draw-replay.ts';

const draw = (seq: number, source: string, value: number | string, at: string) => ({ seq, source, value, at });

describe('outside values of a replay', () => {
  it('are those of the place that asks, in order', () => {
    const learned: unknown[] = [];
    const draws = new DrawReplay(
      [
        draw(1, 'Math.random', 0.1, 'a.mjs:1:1'),
        draw(2, 'Math.random', 0.2, 'lib.js:9:9'),
        draw(3, 'Math.random', 0.3, 'a.mjs:1:1'),
      ],
      (recorded) => void learned.push(recorded),
    );
    const ask = (at: string): number => draws.draw('Math.random', at, () => 0.9);
    // The library asks once more than it did: nobody else's value is taken for it.
    expect([ask('lib.js:9:9'), ask('a.mjs:1:1'), ask('a.mjs:1:1')]).toEqual([0.2, 0.1, 0.3]);
    expect(ask('lib.js:9:9')).toBe(0.9);
    expect(draws).toMatchObject({ count: 4, extra: 1, nextSeq: undefined });
    expect(learned).toEqual([0.2, 0.1, 0.3]);
  });

  it('of code that moved are the next of their source', () => {
    const draws = new DrawReplay([draw(1, 'Date.now', 5, 'a.mjs:1:1'), draw(2, 'Date.now', 6, 'a.mjs:2:1')], () => {});
    expect(draws.nextSeq).toBe(1);
    expect(draws.draw('Date.now', 'a.mjs:7:1', () => 1000)).toBe(5);
    expect(draws.draw('Date.now', 'a.mjs:8:1', () => 1000)).toBe(6);
    // A clock does not jump to today where nothing is left.
    expect(draws.draw('Date.now', 'a.mjs:9:1', () => 1000)).toBe(6);
  });

  it('have the form of the platform’s, or are the platform’s', () => {
    const draws = new DrawReplay(
      [
        draw(1, 'process.hrtime', '12345678901234567890', 'a'),
        draw(2, 'crypto.randomBytes', 'AAEC', 'a'),
        draw(3, 'crypto.randomBytes', 'AAEC', 'b'),
        draw(4, 'Date.now', 'planted', 'a'),
      ],
      () => {},
    );
    expect(draws.draw('process.hrtime', 'a', () => 1n)).toBe(12345678901234567890n);
    expect([...draws.draw('crypto.randomBytes', 'a', () => new Uint8Array(3))]).toEqual([0, 1, 2]);
    expect([...draws.draw('crypto.randomBytes', 'b', () => new Uint8Array(2))]).toEqual([0, 0]);
    expect(draws.draw('Date.now', 'a', () => 7)).toBe(7);
  });
});
