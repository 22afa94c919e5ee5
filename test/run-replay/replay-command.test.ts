/** A recorded command is run again only where this user recorded it, and after a yes. Evidence is a file that it would make. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import type { RunStartRecord } from '@orangebox/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliResult, cliOnTerminal, hasTerminal, startCli } from '../cli/spawn.ts';
import { cleanUp, KEY, placeProgram, recordProgram, type RecordedProgram } from './harness.ts';
import { rewriteRecording } from './replay-rewrite.ts';

let run: RecordedProgram;
/** What the program makes when it runs. */
let made: string;
let pristine: string;

beforeAll(async () => {
  run = await recordProgram({ file: 'replay-command.mjs' });
  made = join(run.directory, 'ran');
  pristine = join(run.directory, 'pristine');
  cpSync(join(run.directory, '.orangebox', 'segments'), pristine, { recursive: true });
  writeFileSync(
    join(run.directory, 'evil.mjs'),
    `import { writeFileSync } from 'node:fs'; writeFileSync('ran', 'evil');`,
  );
});
beforeEach(() => {
  const segments = join(run.directory, '.orangebox', 'segments');
  rmSync(segments, { recursive: true });
  cpSync(pristine, segments, { recursive: true });
  rmSync(made, { force: true });
});
afterAll(cleanUp);

const replay = (...options: string[]): Promise<CliResult> =>
  startCli(['replay', run.runId, '--in-place', ...options], { cwd: run.directory }).ended;

function rewriteStart(change: (start: RunStartRecord) => Partial<RunStartRecord>): void {
  rewriteRecording(run.directory, (record) => (record.type === 'runStart' ? { ...record, ...change(record) } : record));
}

async function expectRefused(why: string): Promise<void> {
  for (const place of [
    ['replay', run.runId, '--yes', '--in-place'],
    ['check', '.orangebox', '--yes', '--in-place'],
  ]) {
    const { code, stderr } = await startCli(place, { cwd: run.directory }).ended;
    expect(stderr).toContain(why);
    expect(stderr).toContain('OBX_RUN_COMMAND_REFUSED');
    expect(stderr).toContain('hint: name the command');
    expect([place[0], code]).toEqual([place[0], 6]);
    expect(existsSync(made)).toBe(false);
  }
}

describe('a recorded command', () => {
  it('is run where it was recorded, once somebody has agreed', async () => {
    const asked = await replay();
    expect([asked.code, existsSync(made)]).toEqual([6, false]);
    expect(asked.stderr).toContain('add --yes');
    const agreed = await replay('--yes');
    expect([agreed.code, existsSync(made)]).toEqual([0, true]);
    expect(agreed.stdout).toBe(run.recorded.stdout);
  });

  it.runIf(hasTerminal)('is shown on a terminal, and run after a yes only', async () => {
    const ask = (stdin: string): Promise<CliResult> =>
      cliOnTerminal(['replay', run.runId, '--in-place'], { cwd: run.directory, stdin });
    const refused = await ask('n\n');
    expect(refused.stdout).toContain('run node replay-command.mjs?');
    expect([refused.code, existsSync(made)]).toEqual([6, false]);
    expect(await ask('y\n')).toMatchObject({ code: 0 });
    expect(existsSync(made)).toBe(true);
  });

  it.each<[what: string, change: (start: RunStartRecord) => Partial<RunStartRecord>]>([
    ['another program', () => ({ argv: ['evil.mjs'] })],
    ['other arguments', ({ argv }) => ({ argv: [...argv, '--force'] })],
    ['other options of Node.js', () => ({ execArgv: ['--import', './evil.mjs'] })],
    ['another signature', () => ({ commandHash: '0'.repeat(64) })],
    ['an empty signature', () => ({ commandHash: '' })],
  ])('is not run where the recording names %s than was signed', async (_what, change) => {
    rewriteStart(change);
    await expectRefused('was not recorded in this directory by you');
  });

  it('is not run for another run than it was signed for', async () => {
    const other = 'run-0123456789ab';
    rewriteStart(() => ({ runId: other }));
    const { code, stderr } = await startCli(['replay', other, '--yes'], { cwd: run.directory }).ended;
    expect(stderr).toContain('was not recorded in this directory by you');
    expect([code, existsSync(made)]).toEqual([6, false]);
  });

  it('is not run where nothing signed it, as in old recordings', async () => {
    rewriteRecording(run.directory, (record) => {
      if (record.type !== 'runStart') return record;
      const { commandHash: _without, ...rest } = record;
      return rest;
    });
    await expectRefused('holds no signature of its command');
  });

  it.each([
    ['an option for a file', { argv: ['-e', 'require("fs").writeFileSync("ran", "")'] }],
    ['no file', { argv: [] }],
    ['another program than node', { execPath: 'sh', argv: ['evil.mjs'] }],
  ])('is not run where it has %s', async (_what, part) => {
    rewriteStart(() => part);
    await expectRefused('holds no command of node with a file');
  });

  it('is not run where a secret stood in it', async () => {
    const secret = await recordProgram({ file: 'replay-command.mjs', args: [KEY] });
    rmSync(join(secret.directory, 'ran'));
    const { code, stderr } = await startCli(['replay', secret.runId, '--yes'], { cwd: secret.directory }).ended;
    expect(stderr).toContain('was given a secret on its command line');
    expect([code, existsSync(join(secret.directory, 'ran'))]).toEqual([6, false]);
  });

  it('is not run where its file lies elsewhere, whatever links say', async () => {
    const elsewhere = join(placeProgram({ file: 'replay-command.mjs' }), 'replay-command.mjs');
    symlinkSync(elsewhere, join(run.directory, 'link.mjs'));
    for (const file of [relative(run.directory, elsewhere), 'link.mjs']) {
      // Links are kept as they were typed, so that what was signed is below the directory by its name.
      const command = ['run', '--replayable', '--', process.execPath, '--preserve-symlinks-main', file];
      const recorded = await startCli(command, { cwd: run.directory }).ended;
      const runId = /recorded (run-[0-9a-f]{12})/.exec(recorded.stderr)?.[1] ?? '';
      rmSync(made);
      const { code, stderr } = await startCli(['replay', runId, '--yes'], { cwd: run.directory }).ended;
      expect(stderr).toContain('ran a file that is not in this directory');
      expect([code, existsSync(made)]).toEqual([6, false]);
    }
  });

  it.runIf(process.getuid?.() === 0)("is not run by a key that is somebody else's", async () => {
    const key = join(run.directory, '.orangebox', 'environment.key');
    chownSync(key, 12_345, 12_345);
    try {
      await expectRefused('was not recorded in this directory by you');
    } finally {
      chownSync(key, 0, 0);
    }
  });

  it('is not run by a key that others can read, that is a link, or that came with the recording', async () => {
    const key = join(run.directory, '.orangebox', 'environment.key');
    chmodSync(key, 0o644);
    await expectRefused('was not recorded in this directory by you');
    chmodSync(key, 0o600);
    expect((await replay('--yes')).code).toBe(0);
    rmSync(made);
    const copy = `${key}.copy`;
    copyFileSync(key, copy);
    chmodSync(copy, 0o600);
    // As an archive has it: the same bytes and mode, in a file of its own.
    renameSync(copy, key);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    await expectRefused('was not recorded in this directory by you');
    mkdirSync(join(run.directory, 'keys'));
    renameSync(key, join(run.directory, 'keys', 'key'));
    symlinkSync(join(run.directory, 'keys', 'key'), key);
    await expectRefused('was not recorded in this directory by you');
    expect(readFileSync(key)).toHaveLength(32);
  });
});
