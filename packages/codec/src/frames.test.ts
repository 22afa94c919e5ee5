import { describe, expect, it } from 'vitest';
import { collectRecords, decodeSegment, encodeRecord, encodeSegmentHeader, concatBytes, utf8 } from './index.ts';

describe('segments', () => {
  it('come back as they were written', () => {
    const records = [
      { type: 'shipped', key: 'k' },
      { type: 'responseChunk', exchangeId: 1, offsetNano: 12, delivery: 3, wireSizeBytes: 2, bytes: utf8('hé') },
    ] as const;
    const file = concatBytes([encodeSegmentHeader(), ...records.map((r) => encodeRecord(r))]);
    const decoder = decodeSegment(file);
    expect([...decoder].map((f) => f.record)).toEqual(records);
    expect(decoder.end.state).toBe('clean');
    expect(collectRecords([]).open).toEqual([]);
  });
});
