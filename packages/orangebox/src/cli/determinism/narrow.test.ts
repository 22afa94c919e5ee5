import { expect, it } from 'vitest';
import { narrow } from './narrow.ts';

const numbers = Array.from({ length: 100 }, (_, i) => i);

function trial(has: (group: readonly number[]) => boolean) {
  let trials = 0;
  let atOnce = 0;
  let most = 0;
  const tried = async (group: readonly number[]): Promise<true | undefined> => {
    trials++;
    most = Math.max(most, ++atOnce);
    await new Promise<void>((done) => setImmediate(done));
    atOnce--;
    return has(group) || undefined;
  };
  return { tried, seen: () => ({ trials, most }) };
}

it('finds each item that has an effect, and makes one trial where none has', async () => {
  const three = trial((group) => [3, 4, 77].some((item) => group.includes(item)));
  expect((await narrow(numbers, three.tried, 2)).map(({ items }) => items)).toEqual([[3], [4], [77]]);
  expect(three.seen().trials).toBeLessThan(45);
  expect(three.seen().most).toBe(2);
  const none = trial(() => false);
  expect(await narrow(numbers, none.tried, 2)).toEqual([]);
  expect(none.seen().trials).toBe(1);
  expect(await narrow([], none.tried, 2)).toEqual([]);
});

it('names items together that have an effect only together', async () => {
  const both = trial((group) => group.includes(0) && group.includes(99));
  expect((await narrow(numbers, both.tried, 4)).map(({ items }) => items.length)).toEqual([100]);
});
