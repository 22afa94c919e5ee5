import { createRedactor } from '@orangebox/codec';
import type { ChildRecord, FileState, InputRecord, RunRecord, RunStartRecord, ToolRunRecord } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { redactRunRecord } from './run-records.ts';

const SECRET = 'sk-planted-0123456789abcdef';
const redactor = createRedactor({ secrets: [{ name: 'env.KEY', value: SECRET }] });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('records of a run hold no secret', () => {
  const start: RunStartRecord = {
    type: 'runStart',
    runId: 'run-1',
    threadId: 0,
    argv: ['agent.mjs'],
    execArgv: [],
    execPath: 'node',
    cwdHash: '',
    node: 'v20.19.0',
    platform: 'linux-x64',
    pid: 1,
    ppid: 0,
    hostname: 'host',
    environment: { values: {}, hashes: {} },
    startUnixNano: '0',
  };
  const child: ChildRecord = {
    type: 'child',
    seq: 0,
    file: 'sh',
    argv: [],
    cwd: '',
    sync: true,
    pid: 7,
    stdin: '',
    events: [],
  };
  const error = { code: 'ENOENT', message: 'spawn sh', syscall: 'spawn sh' };
  const output = { sha256: '', sizeBytes: 0 };
  const said = `said ${SECRET} here`;
  const file: FileState = { path: 'a.txt', type: 'file', mode: 0o644 };
  const tool: ToolRunRecord = {
    type: 'toolRun',
    seq: 1,
    endSeq: 2,
    name: 'look_up',
    frameId: '0',
    isAsync: true,
    outcome: 'returned',
  };
  const planted: { [type in RunRecord['type']]: { [field: string]: RunRecord & { type: type } } } = {
    runStart: {
      runId: { ...start, runId: said },
      parentRunId: { ...start, parentRunId: said },
      argv: { ...start, argv: [said] },
      execArgv: { ...start, execArgv: [said] },
      execPath: { ...start, execPath: said },
      hostname: { ...start, hostname: said },
      cwd: { ...start, cwd: said },
      'environment.values': { ...start, environment: { values: { LANG: said }, hashes: {} } },
    },
    draws: {
      value: { type: 'draws', draws: [{ seq: 1, source: 'os.hostname', value: said }] },
      at: { type: 'draws', draws: [{ seq: 1, source: 'Date.now', value: 1, at: said }] },
    },
    timerFired: { at: { type: 'timerFired', seq: 1, timerId: 0, kind: 'timeout', delayMs: 1, at: said } },
    notReplayable: { what: { type: 'notReplayable', what: said, count: 1 } },
    workDone: {},
    toolRun: {
      name: { ...tool, name: said },
      args: { ...tool, args: JSON.stringify([said]) },
      value: { ...tool, value: JSON.stringify({ said }) },
      'error.name': { ...tool, error: { name: said, message: '' } },
      'error.message': { ...tool, error: { name: 'Error', message: said } },
      'error.hidden': { ...tool, error: { name: 'Error', message: '', hidden: JSON.stringify({ cause: said }) } },
      'error.members': { ...tool, error: { name: 'Error', message: '', members: JSON.stringify({ said }) } },
      notReplayable: { ...tool, notReplayable: [{ what: said, count: 1 }] },
    },
    child: {
      file: { ...child, file: said },
      argv: { ...child, argv: ['-c', said] },
      cwd: { ...child, cwd: said },
      stdin: { ...child, stdin: base64(said) },
      stdout: { ...child, events: [{ seq: 1, kind: 'stdout', bytes: base64(said) }] },
      stderr: { ...child, events: [{ seq: 1, kind: 'stderr', bytes: base64(said) }] },
      'error.code': { ...child, events: [{ seq: 1, kind: 'error', error: { ...error, code: said } }] },
      'error.message': { ...child, events: [{ seq: 1, kind: 'error', error: { ...error, message: said } }] },
      'error.syscall': { ...child, events: [{ seq: 1, kind: 'error', error: { ...error, syscall: said } }] },
      signal: { ...child, events: [{ seq: 1, kind: 'exit', code: null, signal: said }] },
    },
    runFiles: {
      path: { type: 'runFiles', files: [{ ...file, path: said }] },
      target: { type: 'runFiles', files: [{ ...file, type: 'link', target: said }] },
    },
    filesChanged: { path: { type: 'filesChanged', changes: [{ kind: 'created', file: { ...file, path: said } }] } },
    input: {
      bytes: { type: 'input', pieces: [{ seq: 1, bytes: base64(said) }] },
      errorCode: { type: 'input', pieces: [{ seq: 1, bytes: '', by: 'readSync', errorCode: said }] },
    },
    // Digests and numbers.
    runEnd: {
      stdout: { type: 'runEnd', seq: 1, exitCode: 0, stdout: { ...output, head: base64(said) }, stderr: output },
      stderr: { type: 'runEnd', seq: 1, exitCode: 0, stdout: output, stderr: { ...output, head: base64(said) } },
    },
    threadEvent: { none: { type: 'threadEvent', seq: 1, kind: 'message', worker: 0 } },
  };
  const cases = Object.entries(planted).flatMap(([type, fields]) =>
    Object.entries(fields).map(([field, record]): [string, RunRecord] => [`${type}.${field}`, record]),
  );

  it.each(cases)('in %s', (name, record) => {
    const clean = JSON.stringify(redactRunRecord(record, redactor));
    // Bytes are written in base64.
    const all = clean.replaceAll(/"([\w+/]{8,}=*)"/g, (_, text: string) => Buffer.from(text, 'base64').toString());
    expect(clean + all).not.toContain(SECRET);
    if (!name.endsWith('.none')) expect(clean + all).toContain('said {{secret:env.KEY}} here');
  });

  it('in standard input, also across pieces, which stay what they were', () => {
    const typed = ['key ', ...SECRET, '\n', 'next'].map((text, i) => ({ seq: i, bytes: base64(text) }));
    const clean = redactRunRecord({ type: 'input', pieces: typed }, redactor) as InputRecord;
    const pieces = clean.pieces.map(({ bytes }) => Buffer.from(bytes, 'base64').toString());
    expect(pieces.filter((text) => text !== '')).toEqual(['key ', '{{secret:env.KEY}}', '\n', 'next']);
    expect(pieces).toHaveLength(typed.length);
  });

  it('in what a child process is given and gives, also across two pieces', () => {
    const events: ChildRecord['events'] = [
      { seq: 1, kind: 'stdout', bytes: base64(`before ${SECRET.slice(0, 9)}`) },
      { seq: 2, kind: 'stdout', bytes: base64(`${SECRET.slice(9)} after`) },
      { seq: 3, kind: 'stderr', bytes: base64('nothing') },
      { seq: 4, kind: 'close', code: 0, signal: null },
    ];
    const child = redactRunRecord(
      {
        type: 'child',
        seq: 0,
        file: 'sh',
        argv: ['-c', `curl -H ${SECRET}`],
        cwd: '',
        sync: false,
        pid: 7,
        stdin: base64(SECRET),
        events,
      },
      redactor,
    ) as ChildRecord;
    const text = (kind: string): string =>
      Buffer.concat(
        child.events.filter((event) => event.kind === kind).map(({ bytes = '' }) => Buffer.from(bytes, 'base64')),
      ).toString();
    expect(text('stdout')).toBe('before {{secret:env.KEY}} after');
    expect(child.events[2]).toEqual(events[2]);
    expect(Buffer.from(child.stdin, 'base64').toString()).toBe('{{secret:env.KEY}}');
    expect(child.argv[1]).toBe('curl -H {{secret:env.KEY}}');
  });

  it('and leaves what was drawn at random alone', () => {
    const draws = [{ seq: 1, source: 'crypto.randomUUID', value: '53d54b38-59d2-4321-98fd-fb92c5b6e6a6' }];
    expect(redactRunRecord({ type: 'draws', draws }, redactor)).toEqual({ type: 'draws', draws });
  });
});
