import { describe, expect, it } from 'vitest';
import { passesCoarse, unixMs } from './filter.ts';

describe('times of entries', () => {
  it('that are whole milliseconds pass a filter from that millisecond on', () => {
    for (let i = 0; i < 1000; i++) {
      const ms = 1_796_058_000_000 + i;
      const facts = { startUnixNano: `${ms}000000`, traceId: '', spanId: '' };
      expect(passesCoarse(facts, { sinceUnixMs: ms })).toBe(true);
      expect(passesCoarse(facts, { untilUnixMs: ms })).toBe(false);
    }
  });

  it('are read from text of any length', () => {
    expect(['0', '999', '1500000', '1772000000123456789'].map(unixMs)).toEqual([0, 0.000999, 1.5, 1772000000123.4568]);
  });
});
