import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentKey, signFiles } from '@orangebox/instrument/run';
import type { RecordedRun } from '@orangebox/replay/process';
import type { FilesChangedRecord, RunFilesRecord } from '@orangebox/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeReplayPlace, type ReplayPlace } from './replay-place.ts';

let base: string;
let cwd: string;
let recordings: string;
const RUN_ID = 'run-0123456789ab';
const sha256 = createHash('sha256').update('now').digest('hex');

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'obx-place-')));
  cwd = join(base, 'app');
  recordings = join(cwd, '.orangebox');
  mkdirSync(recordings, { recursive: true, mode: 0o700 });
  mkdirSync(join(base, 'scratch'));
  writeFileSync(join(cwd, 'agent.mjs'), 'now');
  environmentKey(recordings);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const signed = <T extends RunFilesRecord | FilesChangedRecord>(record: T): T => {
  const signature = signFiles(recordings, RUN_ID, record);
  expect(signature).toBeTypeOf('string');
  return { ...record, ...(signature === undefined ? {} : { signature }) };
};
const started: RunFilesRecord = {
  type: 'runFiles',
  files: [{ path: 'agent.mjs', type: 'file', mode: 0o644, sizeBytes: 3, sha256 }],
};
const changed: FilesChangedRecord = {
  type: 'filesChanged',
  child: 1,
  changes: [{ kind: 'created', file: { path: 'agent.mjs', type: 'file', mode: 0o644, sizeBytes: 3, sha256 } }],
};
/** What a place asks of a thread. */
const thread = (
  threadId: number,
  files: RunFilesRecord[] | undefined,
  fileChanges: FilesChangedRecord[] = [],
): RecordedRun =>
  ({
    start: { runId: RUN_ID, threadId, cwd, argv: ['agent.mjs'] },
    ...(files ? { files } : {}),
    fileChanges,
  }) as unknown as RecordedRun;
const placeOf = (...threads: RecordedRun[]): ReplayPlace =>
  makeReplayPlace({
    cwd,
    recordings,
    run: threads[0],
    threads,
    command: ['node', 'agent.mjs'],
    scratch: join(base, 'scratch'),
  });

describe('what child processes did to files is done again', () => {
  it('where all that is on record of files was recorded here', () => {
    expect(placeOf(thread(0, [signed(started)], [signed(changed)])).plan.appliesFiles).toBe(true);
  });

  it.each<[string, () => RecordedRun[]]>([
    ['nothing is on record of files', () => [thread(0, undefined)]],
    ['the main thread says nothing, and a worker does', () => [thread(0, undefined), thread(1, undefined, [changed])]],
    ['a worker says more', () => [thread(0, [signed(started)]), thread(1, undefined, [changed])]],
    ['the main thread says more', () => [thread(0, [signed(started)], [changed])]],
  ])('but not where %s', (_what, threads) => {
    const place = placeOf(...threads());
    expect(place.plan.appliesFiles).toBe(false);
    // What is said of it leaves nothing out of the copy.
    expect(existsSync(join(place.cwd, 'agent.mjs'))).toBe(true);
    expect(readFileSync(join(place.cwd, 'agent.mjs'), 'utf8')).toBe('now');
  });
});
