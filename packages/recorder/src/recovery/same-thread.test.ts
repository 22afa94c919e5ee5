/** A call that a killed process left twice: whole in its segment, and open in its journal. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedactor, decodeSegment, encodeRecord, encodeSegmentHeader } from '@orangebox/codec';
import { segmentFileName, segmentHost, type SegmentRecord } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { semconvNames } from '../otel/gen-ai-attributes.ts';
import { play, readRecords, segmentPaths, testRecorder } from '../testing/scripted-exchange.ts';
import { recoverDirectory } from './recover-directory.ts';
import type { RecoveryHost } from './recover-series.ts';

const DEAD_PID = 4_194_305;

function write(dir: string, startUnixMs: number, records: readonly SegmentRecord[]): void {
  const id = { host: segmentHost(hostname()), pid: DEAD_PID, threadId: 0, startUnixMs, n: 0 };
  const directory = join(dir, 'segments', '2026-11-30');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const bytes = [encodeSegmentHeader(), ...records.map((record) => encodeRecord(record))];
  writeFileSync(join(directory, segmentFileName(id)), Buffer.concat(bytes), { mode: 0o600 });
}

const hostOf = (dir: string): RecoveryHost => ({
  dir,
  kind: 'recover',
  pace: { sliceMs: 1000, pause: () => Promise.resolve() },
  spanContent: { captureContent: false, names: semconvNames([]) },
  redactor: () => createRedactor({ secrets: [], patterns: [] }),
  retryQuarantined: false,
});

it('is the one in the segment: the other is forgotten, and neither is completed again', async () => {
  const box = testRecorder();
  play(box.recorder);
  box.recorder.flushSync('process_exit');
  const [path = ''] = segmentPaths(box.dir);
  const records = [...decodeSegment(readFileSync(path))].map(({ record }) => record);
  box.dispose();
  const dir = mkdtempSync(join(tmpdir(), 'obx-same-thread-'));
  write(dir, 1, records);
  write(
    dir,
    2,
    records.filter(({ type }) => type === 'segmentStart' || type === 'exchangeStart'),
  );
  const report = await recoverDirectory(hostOf(dir));
  expect(report).toMatchObject({ series: 2, calls: 0, left: 1 });
  expect(readRecords(dir).filter(({ type }) => type === 'forgotten')).toEqual([
    { type: 'forgotten', exchangeIds: [1] },
  ]);
  expect(await recoverDirectory(hostOf(dir))).toMatchObject({ series: 0, calls: 0, left: 1 });
  rmSync(dir, { recursive: true, force: true });
});

it('of another thread is another call', async () => {
  const box = testRecorder();
  play(box.recorder);
  box.recorder.flushSync('process_exit');
  const starts = readRecords(box.dir).filter(({ type }) => type === 'segmentStart' || type === 'exchangeStart');
  box.dispose();
  const dir = mkdtempSync(join(tmpdir(), 'obx-same-thread-'));
  write(dir, 2, starts);
  expect(await recoverDirectory(hostOf(dir))).toMatchObject({ series: 1, calls: 1 });
  rmSync(dir, { recursive: true, force: true });
});
