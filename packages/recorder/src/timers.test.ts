import { expect, it } from 'vitest';
import { isWithin } from './timers.ts';

it('takes a time that lies in the future for one that is long past: the clock was set back', () => {
  expect(isWithin(1000, 5000, 5999)).toBe(true);
  expect(isWithin(1000, 5000, 6000)).toBe(false);
  expect(isWithin(1000, 5000, 4999)).toBe(false);
  expect(isWithin(1000, Number.NEGATIVE_INFINITY, 0)).toBe(false);
});
