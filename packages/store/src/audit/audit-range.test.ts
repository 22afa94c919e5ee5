import { expect, it } from 'vitest';
import { AuditRange } from './audit-range.ts';

it('has the calls of its first millisecond and none of the one after its last, whatever the time', () => {
  // As one number nanoseconds are rounded, of about half the times downwards.
  for (let ms = 1_772_000_000_000; ms < 1_772_000_000_200; ms += 1) {
    const range = new AuditRange({ sinceUnixMs: ms, untilUnixMs: ms + 1, nowMs: ms + 1, graceMs: 1 });
    const has = (unixMs: number): boolean => range.has(`${unixMs}000000`);
    expect([has(ms - 1), has(ms), has(ms + 1)], String(ms)).toEqual([false, true, false]);
    expect(range.isRecent(`${ms}000000`)).toBe(false);
    expect(range.isRecent(`${ms}001000`)).toBe(true);
  }
});
