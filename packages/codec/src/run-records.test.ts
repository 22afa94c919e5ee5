import type { RunRecord } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { decodeSegment } from './decode-segment.ts';
import { encodeRecord, encodeSegmentHeader } from './frames.ts';
import { collectRecords } from './records.ts';

const output = { sha256: 'e3b0', sizeBytes: 0 };
const records: RunRecord[] = [
  {
    type: 'runStart',
    runId: 'run-0123456789ab',
    threadId: 0,
    argv: ['agent.mjs'],
    execArgv: [],
    execPath: 'node',
    cwdHash: 'ab',
    node: 'v20.19.0',
    platform: 'linux-x64',
    pid: 1,
    ppid: 0,
    hostname: 'host.example',
    environment: { values: { TZ: 'UTC' }, hashes: { HOME: 'cd' } },
    startUnixNano: '1',
  },
  { type: 'draws', draws: [{ seq: 1, source: 'Date.now', value: 1767225600000, at: 'agent.mjs:1:1' }] },
  { type: 'timerFired', seq: 3, timerId: 0, kind: 'timeout', delayMs: 5 },
  { type: 'notReplayable', what: 'connection to db:5432', count: 3 },
  {
    type: 'child',
    seq: 4,
    file: 'sh',
    argv: ['-c', 'true'],
    cwd: '',
    sync: true,
    pid: 2,
    stdin: '',
    events: [{ seq: 5, kind: 'exit', code: null, signal: 'SIGKILL' }],
  },
  {
    type: 'runFiles',
    files: [
      { path: 'a.txt', type: 'file', mode: 0o644, sizeBytes: 1, sha256: 'ab' },
      { path: '.env', type: 'file', mode: 0o600, sizeBytes: 9, keyedHash: 'cd' },
      { path: 'b', type: 'link', mode: 0o777, target: 'a.txt' },
    ],
  },
  {
    type: 'filesChanged',
    child: 4,
    changes: [{ kind: 'deleted', file: { path: 'a.txt', type: 'file', mode: 0o644 } }],
  },
  { type: 'threadEvent', seq: 6, kind: 'message', worker: 0 },
  {
    type: 'input',
    pieces: [
      { seq: 8, bytes: 'YQo=' },
      { seq: 10, bytes: '', isEnd: true },
    ],
  },
  { type: 'runEnd', seq: 7, exitCode: 0, stdout: output, stderr: output },
];
const segment = (...parts: Uint8Array[]): Uint8Array =>
  Buffer.concat([encodeSegmentHeader(), ...parts.map((part) => Buffer.from(part))]);

describe('records of a replayable run', () => {
  it('are read as they were written', () => {
    const decoder = decodeSegment(segment(...records.map((record) => encodeRecord(record))));
    expect([...decoder].map(({ record }) => record)).toEqual(records);
    expect(decoder.end.state).toBe('clean');
  });

  it('are no calls', () => {
    expect(collectRecords(records)).toMatchObject({ calls: [], open: [], orphans: new Set() });
  });

  it.each<[string, object]>([
    ['a draw without a place', { type: 'draws', draws: [{ source: 'Date.now', value: 1 }] }],
    ['a timer of no kind', { type: 'timerFired', seq: 1, timerId: 0, kind: 'cuckoo', delayMs: 5 }],
    ['a child whose events are no list', { ...records[4], events: 'none' }],
    ['a file of no type', { type: 'runFiles', files: [{ path: 'a', type: 'pipe', mode: 0 }] }],
    ['a change that is none', { type: 'filesChanged', changes: [{ kind: 'created' }] }],
    ['an end without a code', { type: 'runEnd', seq: 6, exitCode: 'nought', stdout: output, stderr: output }],
  ])('of another shape are damage: %s', (_what, record) => {
    const decoder = decodeSegment(segment(encodeRecord(record as RunRecord), encodeRecord(records[3]!)));
    expect([...decoder].map(({ record: read }) => read)).toEqual([records[3]]);
    expect(decoder.end.damagedFrames).toBe(1);
  });
});
