/** Places of records that a sweep has moved. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeRecord } from '@orangebox/codec';
import { expect, it } from 'vitest';
import { readBack } from '../record-location.ts';
import { noteMoved, noteRemoved, presentOffset, RemovedByBoundError } from './moved-records.ts';

it('finds a record where it stands after files were rewritten twice, and knows of one that went', () => {
  const path = '/moved/twice.obxs';
  noteMoved(path, [
    { from: 0, to: 100, newFrom: 0 },
    { from: 150, to: 400, newFrom: 120 },
  ]);
  expect(presentOffset(path, 200, 50)).toBe(170);
  expect(presentOffset(path, 120, 10)).toBeUndefined();
  expect(presentOffset(path, 90, 20)).toBeUndefined();
  noteMoved(path, [
    { from: 0, to: 50, newFrom: 0 },
    { from: 160, to: 370, newFrom: 50 },
  ]);
  expect(presentOffset(path, 200, 50)).toBe(60);
  expect(presentOffset(path, 155, 10)).toBeUndefined();
  noteRemoved(path);
  expect(presentOffset(path, 200, 50)).toBeUndefined();
});

it('is used where records are read back', () => {
  const root = mkdtempSync(join(tmpdir(), 'orangebox-moved-'));
  try {
    const path = join(root, 'file.obxs');
    const frame = encodeRecord({ type: 'shipped', key: 'k' });
    writeFileSync(path, frame);
    noteMoved(path, [{ from: 500, to: 500 + frame.length, newFrom: 0 }]);
    const location = { path, offset: 500, sizeBytes: frame.length, n: 0 };
    expect(readBack(location, fs)).toEqual([{ type: 'shipped', key: 'k' }]);
    expect(() => readBack({ ...location, offset: 0 }, fs)).toThrow('removed by a bound');
    noteRemoved(path);
    expect(() => readBack(location, fs)).toThrow(RemovedByBoundError);
  } finally {
    rmSync(root, { recursive: true });
  }
});
