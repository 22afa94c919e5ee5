/**
 * A recording may come from anybody. Each of these is a real one that was tampered with; whatever it holds, nothing of it is run,
 * nothing is written or asked for elsewhere, and the replay ends in time, in bounded memory, with a documented exit code.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import type { SegmentRecord } from '@orangebox/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliResult, startCli } from '../cli/spawn.ts';
import { cleanUp, type RecordedProgram, recordProgram } from './harness.ts';
import { type Change, rewriteRecording, segmentsOf } from './replay-rewrite.ts';

let run: RecordedProgram;
let pristine: string;
let trap: net.Server;
let trapPort: number;
let trapped = 0;

beforeAll(async () => {
  run = await recordProgram({ file: 'replay-hostile.mjs' });
  pristine = join(run.directory, 'pristine');
  cpSync(join(run.directory, '.orangebox', 'segments'), pristine, { recursive: true });
  writeFileSync(join(run.directory, 'evil.cjs'), `require('node:fs').writeFileSync('evil', '');`);
  trap = net.createServer((socket) => {
    trapped++;
    socket.destroy();
  });
  await once(trap.listen(0, '127.0.0.1'), 'listening');
  trapPort = (trap.address() as net.AddressInfo).port;
});
beforeEach(() => {
  const segments = join(run.directory, '.orangebox', 'segments');
  rmSync(segments, { recursive: true, force: true });
  cpSync(pristine, segments, { recursive: true });
  rmSync(join(run.directory, 'out'), { recursive: true, force: true });
});
afterAll(() => {
  trap.close();
  cleanUp();
});

/** Heap of the command and of the program, each, in MiB. */
const HEAP_MIB = 400;
const TIME_MAX_MS = 20_000;
const COMMAND = [process.execPath, 'replay-hostile.mjs'];

/** What lies in the directory of the program and beside it, but for what the replay is to make. */
function surroundings(): string[] {
  const own = readdirSync(run.directory).filter((name) => name !== 'out');
  const beside = readdirSync(dirname(run.directory)).filter((name) => /evil/.test(name));
  return [...own, ...beside];
}

/** What the program made. */
function filesMade(): string[] {
  const directory = join(run.directory, 'out');
  return existsSync(directory) ? readdirSync(directory) : [];
}

async function replayed(
  words: readonly string[] = ['replay', run.runId, '--in-place', '--', ...COMMAND],
): Promise<CliResult> {
  const env = {
    OPENAI_API_KEY: 'sk-other-0123456789',
    OPENAI_BASE_URL: baseUrl(),
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  };
  const before = surroundings();
  const startedMs = performance.now();
  const result = await startCli(words, { cwd: run.directory, env }).ended;
  expect(performance.now() - startedMs).toBeLessThan(TIME_MAX_MS);
  expect(surroundings()).toEqual(before);
  expect(trapped).toBe(0);
  expect(result.signal).toBeNull();
  expect(result.stderr).not.toMatch(/unexpected fault|heap out of memory/);
  // A program that throws may say so; Orangebox has nothing to say of itself.
  expect(
    result.stderr
      .split(/^(?:not )?replayed|^orangebox:/m)
      .slice(1)
      .join(''),
  ).not.toMatch(/^ +at /m);
  return result;
}

/** Where the provider was. */
function baseUrl(): string {
  const [file = ''] = readdirSync(pristine).flatMap((date) =>
    readdirSync(join(pristine, date)).map((n) => join(pristine, date, n)),
  );
  return `${/http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(file, 'latin1'))?.[0]}/v1`;
}

/** A record with other members. */
const as = (record: SegmentRecord, part: object): SegmentRecord => ({ ...record, ...part }) as SegmentRecord;
const only =
  <T extends SegmentRecord['type']>(type: T, part: (record: Extract<SegmentRecord, { type: T }>) => object): Change =>
  (record) =>
    record.type === type ? as(record, part(record as Extract<SegmentRecord, { type: T }>)) : record;
/** More records before the end of the run. */
const more =
  (records: () => object[]): Change =>
  (record) =>
    record.type === 'runEnd' ? [...(records() as SegmentRecord[]), record] : record;
const draw = (source: string, value: unknown): Change =>
  only('draws', ({ draws }) => ({ draws: draws.map((one) => (one.source === source ? { ...one, value } : one)) }));
/** Every member of every record of a kind becomes something else. */
const wrongTypes =
  (value: unknown, isSpared: (record: SegmentRecord) => boolean): Change =>
  (record) =>
    isSpared(record)
      ? record
      : as(
          record,
          Object.fromEntries(
            Object.keys(record)
              .filter((name) => name !== 'type')
              .map((name) => [name, value]),
          ),
        );
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
/** Chunks are no JSON: what their members may be, their bytes say. */
const isChunk = ({ type }: SegmentRecord): boolean => type === 'requestChunk' || type === 'responseChunk';
const isFrame = (record: SegmentRecord): boolean =>
  isChunk(record) || record.type === 'segmentStart' || record.type === 'runStart';

/** What was done to the recording, and the exit code of its replay. */
const TAMPERED: readonly (readonly [what: string, code: number, change: Change])[] = [
  ['nothing', 0, (record) => record],
  ['absolute paths of what is run', 10, only('child', () => ({ file: '/bin/rm', argv: ['-rf', '/'], cwd: '/' }))],
  ['places above the directory', 10, only('child', () => ({ file: '../../evil', cwd: '../../..' }))],
  ['a path where a UUID belongs', 4, draw('crypto.randomUUID', '../../evil')],
  ['a command line where a host name belongs', 4, draw('os.hostname', '$(touch evil)')],
  ['a time beyond time', 4, draw('new Date', 1e300)],
  ['an object that is no text', 4, draw('Math.random', { toString: 1, valueOf: 1 })],
  [
    'huge counts',
    4,
    more(() => [
      { type: 'dropped', reason: 'x', count: Number.MAX_SAFE_INTEGER },
      { type: 'notReplayable', what: 'x', count: Number.MAX_SAFE_INTEGER },
    ]),
  ],
  ['objects in every member', 4, wrongTypes({}, isFrame)],
  ['negative numbers in every member', 4, wrongTypes(-1, isFrame)],
  ['null in every member', 4, wrongTypes(null, isFrame)],
  ['lists in every member of the start too', 3, wrongTypes([], isChunk)],
  [
    'names of the prototype',
    10,
    (record) => {
      const names = JSON.parse(
        '{"__proto__": "x", "constructor": "y", "toString": "z", "hasOwnProperty": "w"}',
      ) as object;
      if (record.type === 'runStart') return as(record, { environment: { values: names, hashes: names } });
      return record.type === 'exchangeStart'
        ? as(record, { url: 'http://h/constructor', method: '__proto__' })
        : record;
    },
  ],
  ['negative delays', 4, only('timerFired', () => ({ delayMs: -1 }))],
  ['delays that are no number', 4, only('timerFired', () => ({ delayMs: Number.NaN }))],
  ['timers that were never made', 10, only('timerFired', () => ({ timerId: Number.MAX_SAFE_INTEGER }))],
  [
    'process number 1 everywhere',
    0,
    (record) =>
      record.type === 'runStart'
        ? as(record, { pid: 1, ppid: 1 })
        : record.type === 'child'
          ? as(record, { pid: 1 })
          : record,
  ],
  ['process number 0 for itself', 3, only('runStart', () => ({ pid: 0 }))],
  [
    'lists within lists in a value',
    4,
    only('draws', ({ draws }) => ({
      draws: draws.map((one) => ({ ...one, value: JSON.parse(nested(1000)) as unknown })),
    })),
  ],
  ['lists within lists in a request', 10, only('requestChunk', () => ({ bytes: Buffer.from(nested(100_000)) }))],
  ['lists within lists in an answer', 10, only('responseChunk', () => ({ bytes: Buffer.from(nested(100_000)) }))],
  [
    'ids that lead in a circle',
    0,
    (record) => (record.type === 'callEnd' ? as(record, { exchangeIds: [1, 2, 2, 1] }) : record),
  ],
  ['itself as the run that started it', 0, only('runStart', ({ runId }) => ({ parentRunId: runId }))],
  [
    'one place for everything',
    10,
    (record) => ('seq' in record && record.type !== 'runEnd' ? as(record, { seq: 1 }) : record),
  ],
  [
    'places beyond all numbers',
    10,
    (record) => ('seq' in record ? as(record, { seq: Number.MAX_SAFE_INTEGER }) : record),
  ],
  ['every record twice', 10, (record) => [record, record]],
  [
    'secrets in place of everything',
    10,
    (record) => {
      const token = '{{secret:X}}';
      if (record.type === 'child')
        return as(record, { file: token, argv: [token], cwd: token, stdin: Buffer.from(token).toString('base64') });
      if (record.type === 'exchangeStart') return as(record, { url: `http://${token}/${token}`, method: token });
      return record.type === 'requestChunk' ? as(record, { bytes: Buffer.from(token) }) : record;
    },
  ],
  [
    'addresses with credentials, of somebody else',
    10,
    only('exchangeStart', () => ({ url: `http://user:password@127.0.0.1:${trapPort}/` })),
  ],
  ['addresses of files', 10, only('exchangeStart', () => ({ url: 'file:///etc/passwd' }))],
  ['addresses of programs', 10, only('exchangeStart', () => ({ url: 'javascript:process.exit(0)' }))],
  [
    'answers that send elsewhere',
    10,
    only('responseHead', () => ({ status: 302, headers: [['location', `http://127.0.0.1:${trapPort}/`]] })),
  ],
  [
    'lines within the fields of an answer',
    0,
    only('responseHead', ({ headers }) => ({ headers: [...headers, ['x-a', 'b\r\nx-c: d'], ['x\r\ny', 'z']] })),
  ],
  [
    'an answer that is longer than all memory',
    0,
    only('responseHead', ({ headers }) => ({
      headers: [
        ...headers.filter(([name]) => !/content-length|transfer/i.test(name)),
        ['content-length', '9'.repeat(18)],
      ],
    })),
  ],
  [
    'sizes beyond all memory',
    0,
    (record) => ('wireSizeBytes' in record ? as(record, { wireSizeBytes: 0xffff_ffff }) : record),
  ],
  ['a status that is none', 10, only('responseHead', () => ({ status: 99_999, statusText: 'x\r\n\r\n' }))],
  [
    'ten thousand interim answers',
    0,
    only('responseHead', () => ({
      informational: Array.from({ length: 10_000 }, () => ({ status: 103, headers: [] })),
    })),
  ],
  [
    'an error in the words of another',
    10,
    only('exchangeEnd', () => ({
      ending: 'reset',
      error: { stage: 'connect', type: '__proto__', message: `connect ${'a:1'.repeat(10_000)}\n`, code: 'constructor' },
    })),
  ],
  [
    'the same end of a child many times',
    0,
    only('child', ({ events }) => ({
      events: events.flatMap((event) =>
        event.kind === 'exit' || event.kind === 'close' ? [event, event, event] : [event],
      ),
    })),
  ],
  [
    'output of a child behind its end',
    11,
    only('child', ({ events }) => ({
      events: [...events]
        .sort((a, b) => Number(a.kind === 'stdout') - Number(b.kind === 'stdout'))
        .map((event, i) => ({ ...event, seq: [...events].map(({ seq }) => seq).sort((a, b) => a - b)[i] })),
    })),
  ],
  [
    'exit codes that are no numbers',
    4,
    only('child', ({ events }) => ({ events: events.map((event) => ({ ...event, code: { valueOf: 1 } })) })),
  ],
  [
    'two hundred thousand values',
    0,
    more(() =>
      Array.from({ length: 2 }, (_, i) => ({
        type: 'draws',
        draws: Array.from({ length: 100_000 }, (_unused, j) => ({
          seq: 1e6 + i * 1e5 + j,
          source: 'Math.random',
          value: 0.5,
        })),
      })),
    ),
  ],
  [
    'fifty thousand timers',
    10,
    more(() =>
      Array.from({ length: 50_000 }, (_, i) => ({
        type: 'timerFired',
        seq: 1e6 + i,
        timerId: 1e6 + i,
        kind: 'timeout',
        delayMs: 1,
      })),
    ),
  ],
  ['the name of a file for a run', 3, only('runStart', () => ({ runId: '../../evil' }))],
  ['no main thread', 3, only('runStart', () => ({ threadId: 7 }))],
  [
    'an environment that loads and leads',
    0,
    only('runStart', ({ environment }) => ({
      environment: {
        ...environment,
        values: {
          ...environment.values,
          NODE_OPTIONS: '--require ./evil.cjs',
          LD_PRELOAD: './evil.so',
          PATH: '.',
          NODE_ENV: '../../evil',
          TZ: ':/etc/passwd',
          LANG: '../../evil',
          HTTP_PROXY: `http://127.0.0.1:${trapPort}`,
        },
      },
    })),
  ],
];

describe('a recording that holds', () => {
  it.each(TAMPERED)('%s does no harm', async (_what, code, change) => {
    rewriteRecording(run.directory, change);
    const result = await replayed();
    expect([result.code, result.stderr]).toEqual([code, result.stderr]);
    // Whatever was drawn: the files of the program are where it makes them.
    expect(filesMade().every((name) => /^[0-9a-f-]{36}\.txt$/.test(name))).toBe(true);
  });
});

/** What was done to the bytes of the segment, and the exit code. */
const BROKEN: readonly (readonly [
  what: string,
  code: number,
  change: (bytes: Buffer, file: string) => Uint8Array | undefined,
])[] = [
  ['is cut in half', 4, (bytes) => bytes.subarray(0, bytes.length / 2)],
  ['is cut within a frame', 4, (bytes) => bytes.subarray(0, -3)],
  ['has frames of 4 GiB', 4, (bytes) => Buffer.concat([bytes, Buffer.from('ffffffff0000000001', 'hex')])],
  ['goes on with noise', 4, (bytes) => Buffer.concat([bytes, Buffer.alloc(3_000_000, 'noise')])],
  ['is of a later format', 3, (bytes) => (bytes.writeUInt32LE(999, 8), bytes)],
  ['is empty', 3, () => new Uint8Array()],
  [
    'is a link to a file of the system',
    3,
    (_, file) => {
      rmSync(file);
      symlinkSync('/etc/passwd', file);
      return undefined;
    },
  ],
  [
    'is a pipe that nobody writes to',
    3,
    (_, file) => {
      rmSync(file);
      execFileSync('mkfifo', [file]);
      return undefined;
    },
  ],
];

describe('a recording whose file', () => {
  it.each(BROKEN)('%s does no harm', async (_what, code, change) => {
    for (const file of segmentsOf(run.directory)) {
      const bytes = change(readFileSync(file), file);
      if (bytes) writeFileSync(file, bytes);
    }
    const result = await replayed();
    expect([result.code, result.stderr]).toEqual([code, result.stderr]);
  });

  it('names another command is not run by it', async () => {
    rewriteRecording(
      run.directory,
      only('runStart', () => ({ argv: ['evil.cjs'] })),
    );
    for (const words of [
      ['replay', run.runId, '--yes'],
      ['check', '.orangebox', '--yes'],
    ]) {
      const { code, stderr } = await replayed(words);
      expect([code, stderr]).toEqual([6, expect.stringContaining('OBX_RUN_COMMAND_REFUSED')]);
    }
  });
});

describe('a file of rules that', () => {
  it.each([
    ['is no JSON', '{', 6],
    ['is no list', '{"rules": {"length": 1}}', 2],
    ['has names of the prototype', '[{"reason": "x", "at": "body", "__proto__": {"at": "**"}}]', 2],
    ['has members that are not known', '[{"reason": "x", "at": "body", "command": "touch evil"}]', 2],
    ['has no expression', '[{"reason": "x", "at": "body", "pattern": "("}]', 2],
    ['has too many', JSON.stringify(Array.from({ length: 1001 }, () => ({ reason: 'x', at: 'body' }))), 2],
    ['is nested', nested(100_000), 2],
    ['has no texts', '[{"reason": {"toString": 1}, "at": ["body"]}]', 2],
  ])('%s is refused before anything runs', async (_what, text, code) => {
    writeFileSync(join(run.directory, 'rules.json'), text);
    const result = await replayed(['replay', run.runId, '--rules', 'rules.json', '--', ...COMMAND]);
    expect([result.code, result.stdout, result.stderr]).toEqual([code, '', expect.stringContaining('OBX_')]);
    expect(surroundings()).not.toContain('out');
  });
});
