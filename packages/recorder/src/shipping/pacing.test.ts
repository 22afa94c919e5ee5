import { expect, it } from 'vitest';
import { createPacing } from './pacing.ts';
import { parseRetryAfter } from './transport.ts';

function pacing(random = 1) {
  const clock = { nowMs: 1_000_000 };
  const made = createPacing({
    concurrency: 4,
    firstPauseMs: 500,
    longestPauseMs: 30_000,
    now: () => clock.nowMs,
    random: () => random,
  });
  return { clock, made };
}

it('pauses longer after each failure, up to a bound, and not at all after a success', () => {
  const { clock, made } = pacing();
  const pauses: number[] = [];
  for (let i = 0; i < 9; i++) {
    made.failed();
    pauses.push(made.waitMs());
    clock.nowMs += made.waitMs();
  }
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  made.succeeded();
  expect([made.waitMs(), made.failures, made.concurrency]).toEqual([0, 0, 4]);
});

it('spreads pauses over half of their length', () => {
  const { made } = pacing(0);
  made.failed();
  expect(made.waitMs()).toBe(250);
});

it('waits at least as long as the endpoint asks for', () => {
  const { made } = pacing();
  made.failed(12_000);
  expect(made.waitMs()).toBe(12_000);
});

it('probes with one request while the endpoint fails', () => {
  const { made } = pacing();
  made.failed();
  made.tryNow();
  expect([made.waitMs(), made.concurrency]).toEqual([0, 1]);
});

it.each([
  [undefined, undefined],
  ['3', 3000],
  ['0', 0],
  ['86400', 300_000],
  ['Thu, 01 Jan 1970 00:00:20 GMT', 10_000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['soon', undefined],
  ['-5', 0],
])('reads Retry-After %s', (value, expected) => {
  expect(parseRetryAfter(value, 10_000)).toBe(expected);
});

it('is no longer paused where the clock was set back', () => {
  const { clock, made } = pacing();
  made.failed();
  clock.nowMs -= 3_600_000;
  expect(made.waitMs()).toBe(0);
  made.failed();
  expect(made.waitMs()).toBe(1000);
});
