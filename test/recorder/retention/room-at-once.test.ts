/** Room that is made at once, before a first file, where short-lived processes find their directory full. */
import * as nodeFs from 'node:fs';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { SegmentRecord } from '@orangebox/schema';
import { segmentHost } from '@orangebox/schema';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { listOldest } from '../../../packages/recorder/src/retention/oldest-files.ts';
import { makeRoomAtOnce, type RoomAtOnce } from '../../../packages/recorder/src/retention/room-at-once.ts';
import { play, testRecorder } from '../../../packages/recorder/src/testing/scripted-exchange.ts';
import { DEAD_PID, type MadeCall, type MadeCalls, makeCalls, readAll, shippedRecord, TestDirectory } from './series.ts';

const NOW = 1_700_000_100_000;
let made: MadeCalls;
let open: MadeCall;
let box: TestDirectory;
const boxes: TestDirectory[] = [];

beforeAll(() => {
  made = makeCalls([{}, {}, {}, { status: 400 }, {}, {}, { open: true }]);
  open = call(6);
});
afterEach(() => {
  for (const one of boxes.splice(0)) one.dispose();
});

function newBox(): TestDirectory {
  box = new TestDirectory();
  boxes.push(box);
  return box;
}
function call(i: number): MadeCall {
  const found = made.calls[i];
  if (!found) throw new Error('no such call');
  return found;
}
const spansOf = (...calls: MadeCall[]): Set<string> => new Set(calls.map(({ spanId }) => spanId));

/** One series of one file for each list of calls, the next a minute younger than the one before. */
function writeEach(lists: readonly (readonly SegmentRecord[])[], more: { pid?: number; host?: string } = {}): void {
  lists.forEach((records, i) => {
    const at = NOW - (lists.length - i) * 60_000;
    box.write(made.process, [records], { startUnixMs: at, modifiedMs: at, ...more });
  });
}

function freeing(bytes: number): RoomAtOnce {
  return makeRoomAtOnce({
    dir: box.dir,
    keepBytes: box.sizeBytes - bytes,
    markedBytes: 0,
    own: { host: 'here', pid: 1, threadId: 0, startUnixMs: 1 },
    nowMs: NOW,
    fs: nodeFs,
  });
}

describe('the oldest files go', () => {
  test('without failed calls first, sent ones before others, and counts what went', async () => {
    newBox();
    const sent = [...call(2).records, shippedRecord(call(2))];
    writeEach([open.records, call(3).records, call(0).records, sent, call(4).records]);
    expect(freeing(10).loss).toMatchObject({ sent: 1, unsent: 0 });
    expect(await box.load()).toEqual(spansOf(open, call(3), call(0), call(4)));
    expect(freeing(10).loss).toMatchObject({ sent: 0, unsent: 1 });
    expect(await box.load()).toEqual(spansOf(open, call(3), call(4)));
    freeing(10);
    expect(await box.load()).toEqual(spansOf(open, call(3)));
    const before = box.sizeBytes;
    const last = freeing(before);
    expect(last).toMatchObject({ usedBytes: 0, freedBytes: before, loss: { unsent: 2 } });
    expect(readAll(box.dir)).toEqual([]);
    expect(readdirSync(join(box.dir, 'claims'))).toEqual([]);
  });

  test('and nothing where the directory is not that full, whatever the mark says', () => {
    newBox();
    writeEach([call(0).records]);
    const { sizeBytes } = box;
    const job = { dir: box.dir, keepBytes: sizeBytes, markedBytes: 10 * sizeBytes, nowMs: NOW, fs: nodeFs };
    const done = makeRoomAtOnce({ ...job, own: { host: '', pid: 1, threadId: 0, startUnixMs: 1 } });
    expect(done).toMatchObject({ usedBytes: sizeBytes, freedBytes: 0 });
    expect(box.sizeBytes).toBe(sizeBytes);
  });

  test('those of living processes, of others that may live, and claimed ones excepted', () => {
    newBox();
    writeEach([call(0).records], { pid: process.ppid });
    writeEach([call(1).records], { host: 'elsewhere' });
    box.write(made.process, [call(2).records], { startUnixMs: NOW - 5, modifiedMs: NOW - 5 });
    mkdirSync(join(box.dir, 'claims'));
    const series = `${segmentHost(hostname())}-${DEAD_PID}-0-${NOW - 5}`;
    const content = { token: 't', kind: 'ship', pid: process.pid, host: segmentHost(hostname()), threadId: 0 };
    writeFileSync(join(box.dir, 'claims', `${series}.json`), JSON.stringify(content));
    // The first one's process began after its file.
    const living = box.paths.filter((path) => !path.includes(`-${process.ppid}-`));
    freeing(box.sizeBytes);
    for (const path of living) expect(existsSync(path), path).toBe(true);
  });

  test('listed in bounded number: of more, the mark says how full it is', () => {
    newBox();
    writeEach([call(0).records, call(1).records, call(2).records]);
    expect(listOldest(box.dir, nodeFs, 2)).toMatchObject({ isWhole: false });
    expect(listOldest(box.dir, nodeFs, 3)).toMatchObject({ isWhole: true, totalBytes: box.sizeBytes });
  });
});

test('a file stays whose calls go on in another, or begin in one', async () => {
  const { records } = call(0);
  newBox().write(made.process, [
    [...call(1).records, ...records.slice(0, 3)],
    [...records.slice(3), ...call(2).records],
    call(4).records,
  ]);
  const before = box.paths;
  freeing(box.sizeBytes);
  expect(box.paths).toEqual(before.slice(0, 2));
  expect(await box.load()).toEqual(spansOf(call(0), call(1), call(2)));
});

test('a damaged file goes last, and only where it is alone', () => {
  const torn = (bytes: Uint8Array, n: number): Uint8Array => (n === 0 ? bytes.subarray(0, -5) : bytes);
  const { records } = call(4);
  newBox().write(made.process, [call(0).records, records.slice(0, 3), records.slice(3)], { raw: torn });
  const before = box.paths;
  const [alone = ''] = box.write(made.process, [call(2).records], { raw: torn, startUnixMs: NOW - 50_000 });
  expect(freeing(box.sizeBytes).loss).toMatchObject({ unsent: 1 });
  expect([existsSync(alone), box.paths]).toEqual([false, before]);
});

test('each of many short processes records, though none lives to the end of a sweep', () => {
  newBox();
  const bodies = new Uint8Array(3000).fill(0x61);
  let most = 0;
  const outcomes = Array.from({ length: 60 }, (_, i) => {
    if (i % 10 === 9) writeFileSync(join(box.dir, '.full'), `${box.sizeBytes} 65536\n`);
    const one = testRecorder({ ORANGEBOX_DIR: box.dir, ORANGEBOX_DIR_BYTES: '64KiB' });
    for (let n = 0; n < 2; n++) play(one.recorder, { responseChunks: [bodies] });
    const records = one.finish();
    // What the next one finds is of a process that has ended.
    for (const path of box.paths.filter((p) => p.includes(`-${process.pid}-`)))
      nodeFs.renameSync(path, path.replace(`-${process.pid}-`, `-${DEAD_PID + i}-`));
    most = Math.max(most, box.sizeBytes);
    return records.calls.slice(-2).every(({ key }) => key !== undefined);
  });
  expect(outcomes).not.toContain(false);
  expect(most).toBeLessThanOrEqual(2 * 65_536);
  expect(readFileSync(join(box.dir, '.full'), 'utf8')).toMatch(/^\d+ 65536\n$/);
});
