import type { DrawsRecord } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { DrawLog } from './draw-log.ts';

it('bytes drawn at random are written before many of them are held', () => {
  const records: DrawsRecord[] = [];
  let seq = 0;
  const log = new DrawLog({ nextSeq: () => seq++, record: (record) => void records.push(record) });
  const bytes = Buffer.alloc(600 * 1024, 7);
  log.draw('crypto.randomBytes', 'a.js:1:1', () => bytes);
  expect(records).toHaveLength(0);
  log.draw('crypto.randomBytes', 'a.js:1:1', () => bytes);
  log.draw('Date.now', 'a.js:2:1', () => 5);
  log.flush();
  expect(records.map(({ draws }) => draws.map(({ seq: place }) => place))).toEqual([[0, 1], [2]]);
  expect(records[0]?.draws[0]?.value).toBe(bytes.toString('base64'));
});
