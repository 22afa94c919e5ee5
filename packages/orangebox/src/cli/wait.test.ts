import { OrangeboxError } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import type { Terminal } from './terminal.ts';
import { isOnItsWay, waitFor, waitOf } from './wait.ts';

const context = { terminal: { errorInteractive: false } as Terminal };
const notArrived = new OrangeboxError('OBX_SNAPSHOT_NOT_ARRIVED', 'not yet');

function failing(times: number, error: Error = notArrived): { attempt: () => Promise<number>; tries: () => number } {
  let tries = 0;
  const attempt = async (): Promise<number> => {
    if (tries++ < times) throw error;
    return tries;
  };
  return { attempt, tries: () => tries };
}

describe('waiting', () => {
  it('tries again until it is there', async () => {
    expect(await waitFor(context, 10_000, failing(2).attempt, isOnItsWay)).toBe(3);
  });

  it('tries once without a time, and not again what will not come', async () => {
    const once = failing(9);
    await expect(waitFor(context, undefined, once.attempt, isOnItsWay)).rejects.toBe(notArrived);
    const lost = failing(9, new OrangeboxError('OBX_SNAPSHOT_LOST', 'gone'));
    await expect(waitFor(context, 10_000, lost.attempt, isOnItsWay)).rejects.toThrow('gone');
    expect([once.tries(), lost.tries()]).toEqual([1, 1]);
  });

  it('tries a last time when the time is over', async () => {
    const never = failing(Number.POSITIVE_INFINITY);
    await expect(waitFor(context, 100, never.attempt, isOnItsWay)).rejects.toBe(notArrived);
    expect(never.tries()).toBeLessThanOrEqual(3);
    expect(never.tries()).toBeGreaterThan(1);
  });

  it('takes a length of time, a minute when none is given', () => {
    expect([waitOf(undefined), waitOf(true), waitOf('5'), waitOf('2m')]).toEqual([undefined, 60_000, 5_000, 120_000]);
    expect(() => waitOf('last')).toThrow(/length of time/);
  });
});
