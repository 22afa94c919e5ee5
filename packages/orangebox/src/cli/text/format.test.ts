import { describe, expect, it } from 'vitest';
import { formatAge, formatBytes, formatCount, formatDuration, plural } from './format.ts';

describe('numbers as a person reads them', () => {
  it('ages take the largest unit that says enough', () => {
    const now = 1_800_000_000_000;
    const ago = (seconds: number): string => formatAge(String(BigInt(now - seconds * 1000) * 1_000_000n), now);
    expect([0, 12, 75, 7200, 3 * 86400].map(ago)).toEqual(['now', '12s', '1m', '2h', '3d']);
    expect(ago(-5)).toBe('now');
  });

  it('durations', () => {
    expect([0.2, 12.4, 1240, 12_340, 200_000, 3_900_000].map(formatDuration)).toEqual([
      '200µs',
      '12ms',
      '1.24s',
      '12.3s',
      '3m 20s',
      '1h 5m',
    ]);
  });

  it('counts and sizes', () => {
    expect([0, 842, 1234, 34_000, 999_600, 1_500_000].map(formatCount)).toEqual([
      '0',
      '842',
      '1.2k',
      '34k',
      '1.0M',
      '1.5M',
    ]);
    expect([512, 2457, 31 * 1024 * 1024].map(formatBytes)).toEqual(['512 B', '2.4 KiB', '31 MiB']);
    expect([plural(1, 'call'), plural(1200, 'call')]).toEqual(['1 call', '1,200 calls']);
  });
});
