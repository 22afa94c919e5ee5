import { OrangeboxError } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { parseCount, parseTime } from './parse-options.ts';

const NOW = new Date('2026-03-10T15:00:00').getTime();

describe('times', () => {
  it.each([
    ['90s', NOW - 90_000],
    ['15m', NOW - 900_000],
    ['2h', NOW - 7_200_000],
    ['1.5d', NOW - 129_600_000],
    ['today', new Date('2026-03-10T00:00:00').getTime()],
    ['yesterday', new Date('2026-03-09T00:00:00').getTime()],
    ['2026-03-01', new Date('2026-03-01T00:00:00').getTime()],
    ['2026-03-01T10:00:00Z', Date.UTC(2026, 2, 1, 10)],
  ])('%s is understood', (text, expected) => {
    expect(parseTime(text, NOW)).toBe(expected);
  });

  it('anything else is refused with examples', () => {
    expect(() => parseTime('soon', NOW)).toThrowError(OrangeboxError);
    expect(() => parseTime('soon', NOW)).toThrowError('"soon" is not a time');
  });
});

it.each(['-1', '1.5', 'x', '', '9999999999999999999'])('the count %j is refused', (text) => {
  expect(() => parseCount(text, '-n', 0)).toThrowError(OrangeboxError);
});
