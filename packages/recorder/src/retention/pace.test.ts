import { afterEach, expect, it } from 'vitest';
import { useTimers } from '../timers.ts';
import { Pace } from './pace.ts';

afterEach(() => useTimers(undefined));

const never = setImmediate(() => {});
clearImmediate(never);

it('goes on after its pause where a program is idle, however urgent it is', async () => {
  useTimers({
    now: () => Date.now(),
    hrtime: () => process.hrtime(),
    setImmediate: () => never,
    setTimeout,
    clearTimeout,
  });
  const pace = new Pace();
  pace.isUrgent = () => true;
  await pace.rest();
  expect(pace.isOver).toBe(false);
});

it('goes on in the next turn of a busy program where it is urgent, and after its pause else', async () => {
  const asked: number[] = [];
  useTimers({
    now: () => Date.now(),
    hrtime: () => process.hrtime(),
    setImmediate,
    setTimeout: (work, delayMs) => {
      asked.push(delayMs);
      return setTimeout(work, delayMs);
    },
    clearTimeout,
  });
  const pace = new Pace(1, 600_000);
  pace.isUrgent = () => true;
  await pace.rest();
  expect(asked).toEqual([600_000]);
});
