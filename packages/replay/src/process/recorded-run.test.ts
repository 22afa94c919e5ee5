import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { encodeRecord, encodeSegmentHeader } from '@orangebox/codec';
import type { SegmentRecord } from '@orangebox/schema';
import { afterEach, describe, expect, it } from 'vitest';
import { findRuns, runDigest } from './find-runs.ts';
import { type RecordedRun, readRun } from './recorded-run.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

const START = {
  type: 'runStart',
  runId: 'run-0123456789ab',
  threadId: 0,
  argv: ['app.js'],
  execArgv: [],
  execPath: 'node',
  cwdHash: '',
  node: 'v20.0.0',
  platform: 'linux-x64',
  pid: 100,
  ppid: 0,
  hostname: 'here',
  environment: { values: {}, hashes: {} },
  startUnixNano: '1',
};
const END = {
  type: 'runEnd',
  seq: 9,
  exitCode: 0,
  stdout: { sha256: '', sizeBytes: 0 },
  stderr: { sha256: '', sizeBytes: 0 },
};
const CHILD = { type: 'child', seq: 1, file: 'sh', argv: [], cwd: '', sync: false, pid: 5, stdin: '', events: [] };

/** A recording of these records, and the directory that it lies in. */
function recording(records: object[]): { file: string; directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'obx-recorded-run-'));
  directories.push(directory);
  const file = join(directory, 'segment');
  const frames = records.map((record) => encodeRecord(record as SegmentRecord, crc32));
  writeFileSync(file, Buffer.concat([encodeSegmentHeader(), ...frames]));
  return { file, directory };
}

const read = (...records: object[]): RecordedRun => readRun([recording([START, ...records, END]).file]);

describe('a recorded run', () => {
  it('may hold any number of values', () => {
    const draws = Array.from({ length: 300_000 }, (_, seq) => ({ seq, source: 'Math.random', value: 0.5 }));
    const run = read({ type: 'draws', draws });
    expect(run.draws).toHaveLength(300_000);
    expect(run.isDamaged).toBe(false);
  });

  it.each([
    ['Math.random', 0.25, [1, -1, 'x', null, { toString: 1 }]],
    ['crypto.randomUUID', '01234567-89ab-4def-8123-456789abcdef', ['../../etc', '', 7, ['a']]],
    ['crypto.randomInt', -7, [1.5, 1e300, '7']],
    ['crypto.randomBytes', 'AAEC', ['\u0000', '{', 7]],
    ['process.pid', 7, [0, -1, 1.5, 2 ** 31, '7']],
    ['process.ppid', 0, [-1, '7']],
    ['os.hostname', 'a-host.test', ['..', '../x', 'a b', '', 7]],
    ['os.hostname', '{{secret:HOST}}.test', ['{{secret:HOST}}/..']],
    ['process.hrtime', '12345678901', ['1e9', '9'.repeat(40), 7]],
    ['performance.now', 1.5, [-1, 'x']],
    ['Date.now', 1.7e12, [1e16, '2020', true]],
    ['Temporal.Now', '-5', ['x']],
  ])('gives of %s what it can give, and counts the rest as damage', (source, value, wrong) => {
    const good = read({ type: 'draws', draws: [{ seq: 1, source, value }] });
    expect([good.draws.length, good.isDamaged]).toEqual([1, false]);
    for (const bad of wrong) {
      const run = read({ type: 'draws', draws: [{ seq: 1, source, value: bad }] });
      expect([bad, run.draws.length, run.isDamaged]).toEqual([bad, 0, true]);
    }
  });

  it('has child processes that a platform could give', () => {
    expect(read(CHILD).children).toHaveLength(1);
    const event = { seq: 2, kind: 'exit', code: 0, signal: null };
    expect(read({ ...CHILD, events: [event, { seq: 3, kind: 'close', signal: 'SIGTERM' }] }).isDamaged).toBe(false);
    for (const part of [
      { pid: 2 ** 40 },
      { stdin: 'no base64!' },
      { events: [{ ...event, code: { a: 1 } }] },
      { events: [{ ...event, code: 'x' }] },
      { events: [{ ...event, signal: 'constructor' }] },
      { events: [{ seq: 2, kind: 'stdout', bytes: '\u001b' }] },
    ]) {
      const run = read({ ...CHILD, ...part });
      expect([part, run.children.length, run.isDamaged]).toEqual([part, 0, true]);
    }
  });

  it('begins with a start that a platform could give, or is none', () => {
    for (const part of [{ pid: 0 }, { pid: 2 ** 40 }, { runId: '../../x' }, { runId: 'run-\u001b[2J' }]) {
      const { file, directory } = recording([{ ...START, ...part }, END]);
      expect(() => readRun([file])).toThrow('no replayable run');
      expect(findRuns(directory)).toEqual([]);
    }
  });
});

describe('the runs of a directory', () => {
  /** A directory of recordings with one segment. */
  const place = (records: object[]): { directory: string; file: string } => {
    const { directory, file: made } = recording(records);
    const day = join(directory, 'segments', '20250101');
    mkdirSync(day, { recursive: true });
    const file = join(day, 'host-1-0-1735689600000-0.obxs');
    renameSync(made, file);
    return { directory, file };
  };

  it('are found by the beginning of their files, however large those are', () => {
    const start = place([START, END]);
    const none = place([END]);
    // Holes take no place on the disk, and memory when they are read.
    for (const { file } of [start, none]) truncateSync(file, 1024 ** 3);
    const before = process.resourceUsage().maxRSS;
    expect(findRuns(start.directory).map(({ runId }) => runId)).toEqual([START.runId]);
    expect(findRuns(none.directory)).toEqual([]);
    expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(200);
  });

  it('have the digest of all their bytes', () => {
    const { directory, file } = place([START, { type: 'draws', draws: [], filler: 'x'.repeat(9_000_000) }, END]);
    const [found] = findRuns(directory);
    expect(found && runDigest(found)).toBe(createHash('sha256').update(readFileSync(file)).digest('hex'));
  });
});
