import { describe, expect, it } from 'vitest';
import { DrawReplay } from './draw-replay.ts';
import { parseUnpinned, placeKey, UnpinnedDraws } from './unpinned-draws.ts';

const all = new UnpinnedDraws({ isUnified: true });

describe('another value in place of a recorded one', () => {
  it('is one of another day, minute and second for a date, and keeps whole milliseconds', () => {
    const recorded = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
    const live = all.another('Date.now', recorded, () => recorded);
    expect(Number.isInteger(live)).toBe(true);
    const [was, is] = [new Date(recorded), new Date(live)];
    for (const part of ['getUTCDate', 'getUTCMonth', 'getUTCHours', 'getUTCMinutes', 'getUTCSeconds'] as const) {
      expect(is[part]()).not.toBe(was[part]());
    }
  });

  it('has durations that are others, of milliseconds and of nanoseconds, and never goes back', () => {
    const ms = [100.25, 110.5].map((at) => all.another('performance.now', at, () => at));
    expect((ms[1] ?? 0) - (ms[0] ?? 0)).toBeCloseTo(10.25 * 1.37, 6);
    const nano = [5_000_000n, 9_000_000n].map((at) => all.another('process.hrtime', at, () => at));
    expect((nano[1] ?? 0n) - (nano[0] ?? 0n)).toBe(5_480_000n);
    const epoch = 1_767_000_000_000_000_000n;
    expect(all.another('Temporal.Now', epoch, () => epoch) - epoch).toBe(3_208_631_123_000_000n);
  });

  it('is drawn again where a small range gives the recorded one once more', () => {
    const given = [1, 1, 1, 2];
    expect(all.another('crypto.randomInt', 1, () => given.shift() ?? 9)).toBe(2);
    expect(all.another('process.pid', 77, () => 78)).toBe(78);
    expect(all.another('os.hostname', 'box', () => 'box')).toBe('other-box');
    expect(all.another('crypto.randomUUID', 'a', () => 'b')).toBe('b');
  });
});

it('leaves all other places their recorded values, and tells the matcher of a pair only where requests may differ by it', () => {
  const recorded = [
    { seq: 1, source: 'Math.random', value: 0.25, at: 'a.mjs:1:1' },
    { seq: 2, source: 'Math.random', value: 0.5, at: 'a.mjs:2:2' },
  ];
  for (const isUnified of [true, false]) {
    const learned: unknown[][] = [];
    const unpinned = new UnpinnedDraws({ places: [placeKey('Math.random', 'a.mjs:2:2')], isUnified });
    const draws = new DrawReplay(recorded, (was, is) => learned.push([was, is]), unpinned);
    expect(draws.draw('Math.random', 'a.mjs:1:1', () => 0.75)).toBe(0.25);
    expect(draws.draw('Math.random', 'a.mjs:2:2', () => 0.125)).toBe(0.125);
    expect(learned).toEqual(
      isUnified
        ? [
            [0.25, 0.25],
            [0.5, 0.125],
          ]
        : [[0.25, 0.25]],
    );
  }
});

it('reads the part of a plan, and refuses what is none', () => {
  expect(parseUnpinned(undefined)).toBeUndefined();
  expect(parseUnpinned({ isUnified: true })).toEqual({ isUnified: true });
  expect(parseUnpinned({ isUnified: false, places: ['a'] })).toEqual({ isUnified: false, places: ['a'] });
  for (const bad of [null, {}, { isUnified: 1 }, { isUnified: true, places: 'a' }, { isUnified: true, places: [1] }]) {
    expect(() => parseUnpinned(bad)).toThrow(TypeError);
  }
});
