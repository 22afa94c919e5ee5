/** Replays that prove nothing, or cannot: each ends with the exit code of what is wrong, and never with that of success. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { SegmentRecord } from '@orangebox/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliResult, startCli } from '../cli/spawn.ts';
import { cleanUp, type RecordedProgram, recordProgram } from './harness.ts';
import { type Change, rewriteRecording, segmentsOf } from './replay-rewrite.ts';

const NODE = process.execPath;
let run: RecordedProgram;
let idle: RecordedProgram;
let pristine: string;
let program: string;

beforeAll(async () => {
  run = await recordProgram({ file: 'set-up.mjs' });
  idle = await recordProgram({ file: 'set-up.mjs', args: ['idle'] });
  pristine = join(run.directory, 'pristine');
  cpSync(join(run.directory, '.orangebox', 'segments'), pristine, { recursive: true });
  program = readFileSync(inRun('set-up.mjs'), 'utf8');
});
beforeEach(() => {
  rmSync(inRun('.orangebox/segments'), { recursive: true, force: true });
  cpSync(pristine, inRun('.orangebox/segments'), { recursive: true });
  writeFileSync(inRun('set-up.mjs'), program);
});
afterAll(cleanUp);

const inRun = (file: string): string => join(run.directory, file);

/** Replays the run. */
function replay(words: string[] = [NODE, 'set-up.mjs'], { options = [] as string[], env = {}, of = run } = {}) {
  return startCli(['replay', of.runId, ...options, '--', ...words], { cwd: of.directory, env: { ...of.env, ...env } })
    .ended;
}

function edited(from: string, to: string): Promise<CliResult> {
  expect(program).toContain(from);
  writeFileSync(inRun('set-up.mjs'), program.replace(from, to));
  return replay();
}

function changed(change: Change): Promise<CliResult> {
  rewriteRecording(run.directory, change);
  return replay();
}

/** Changes the bytes of the recording. */
function damaged(change: (bytes: Buffer) => Uint8Array): Promise<CliResult> {
  for (const file of segmentsOf(run.directory)) writeFileSync(file, change(readFileSync(file)));
  return replay();
}

const without =
  (...types: SegmentRecord['type'][]): Change =>
  (record) =>
    types.includes(record.type) ? [] : record;
const starts: (more: object) => Change = (more) => (record) =>
  record.type === 'runStart' ? ({ ...record, ...more } as SegmentRecord) : record;

/** Connects to the program while it is replayed: a connection that is really there. */
async function reached(): Promise<CliResult> {
  const portFile = inRun('port');
  const ended = replay([NODE, 'set-up.mjs', 'serve'], { env: { PORT_FILE: portFile }, options: ['--in-place'] });
  for (;;) {
    if (existsSync(portFile) && readFileSync(portFile, 'utf8') !== '') break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const socket = connect(Number(readFileSync(portFile, 'utf8')), '127.0.0.1').on('error', () => {});
  try {
    return await ended;
  } finally {
    socket.destroy();
  }
}

const setUps: [name: string, code: number, run: () => Promise<CliResult>][] = [
  ['a recording that is cut short', 4, () => damaged((bytes) => bytes.subarray(0, bytes.length - 200))],
  ['a recording that is cut in its first half', 4, () => damaged((bytes) => bytes.subarray(0, bytes.length >> 1))],
  [
    'a bit that was turned over',
    4,
    () =>
      damaged((bytes) => {
        const at = bytes.length - 300;
        bytes[at] = (bytes[at] ?? 0) ^ 4;
        return bytes;
      }),
  ],
  ['a recording of nothing but its first record', 3, () => damaged((bytes) => bytes.subarray(0, 16))],
  ['a file that is no recording', 3, () => damaged(() => Buffer.from('no recording at all'))],
  ['an empty file', 3, () => damaged(() => Buffer.alloc(0))],
  [
    'no recordings',
    3,
    () => {
      rmSync(inRun('.orangebox/segments'), { recursive: true });
      mkdirSync(inRun('.orangebox/segments'));
      return replay();
    },
  ],
  ['a recording without its end', 4, () => changed(without('runEnd'))],
  ['a recording without its start', 3, () => changed(without('runStart'))],
  [
    'a run that nobody recorded',
    3,
    () => startCli(['replay', 'run-000000000000', '--', NODE, 'set-up.mjs'], { cwd: run.directory }).ended,
  ],
  ['a run in which nothing was asked', 13, () => replay([NODE, 'set-up.mjs', 'idle'], { of: idle })],
  ['a program that asks for nothing any more', 10, () => edited('const answers', 'process.exit(0);\nconst answers')],
  ['a program that ends after its first answer', 10, () => edited("['Lisbon', 'Oslo', 'Riga']", "['Lisbon']")],
  ['another prompt', 10, () => edited('What of', 'What about')],
  ['a request more', 10, () => edited("'Riga']", "'Riga', 'Rome']")],
  ['another variable', 10, () => replay(undefined, { env: { TONE: 'at length' } })],
  ['another line of output', 11, () => edited("'answers')", "'good answers')")],
  ['another exit code', 11, () => edited('const answers', 'process.exitCode = 9;\nconst answers')],
  ['another file that is written', 11, () => edited("join('\\n')", "join(' ')")],
  [
    'another program',
    14,
    () => {
      writeFileSync(inRun('other.mjs'), "console.log('another');");
      return replay([NODE, 'other.mjs']);
    },
  ],
  ['another version of Node.js', 15, () => changed(starts({ node: 'v18.0.0' }))],
  ['a program that is not run with Node.js', 13, () => replay(['true'])],
  [
    'a program that is started without the preload',
    13,
    () => replay(['env', '-u', 'NODE_OPTIONS', NODE, 'set-up.mjs', 'idle']),
  ],
  ['a program that is killed', 13, () => replay(['sh', '-c', 'kill -9 $$'])],
  ['a program that cannot be found', 127, () => replay(['no-such-program'])],
  ['an entry file that is gone', 14, () => replay([NODE, 'gone.mjs'])],
  ['rules that are none', 6, () => replay(undefined, { options: ['--rules', 'answers.txt'] })],
  ['rules that are not there', 6, () => replay(undefined, { options: ['--rules', 'no-rules.json'] })],
  ['a program that is really reached', 16, reached],
];

describe('a replay that is set up wrongly ends with', () => {
  it('0 where it is set up rightly', async () => {
    expect(await replay()).toMatchObject({ code: 0, stdout: '3 answers\n' });
  });

  it.each(setUps)('%s: %i', async (_name, code, work) => {
    const { code: ended, stderr } = await work();
    expect(ended, stderr).toBe(code);
    // What the program itself says is its own matter.
    expect(stderr).not.toMatch(/^\s+at .*\/packages\/(?:orangebox|replay|codec)\//m);
  });
});
