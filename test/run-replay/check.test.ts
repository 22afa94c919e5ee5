/** `orangebox check` on recordings of real programs, by the built command. */
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliResult, startCli } from '../cli/spawn.ts';
import { cleanUp, type RecordedProgram, recordProgram } from './harness.ts';

let recorded: RecordedProgram;

beforeAll(async () => {
  recorded = await recordProgram({ file: 'chat.mjs' });
});
afterAll(cleanUp);

/** Runs the command in the directory of the program, which asks whom it asked, with another key. */
function check(...args: string[]): Promise<CliResult> {
  const env = { OPENAI_API_KEY: 'sk-other-0123456789', OPENAI_BASE_URL: `${providerUrl()}/v1` };
  return startCli(['check', ...args], { cwd: recorded.directory, env }).ended;
}

/** Where the provider was, by the recording. */
function providerUrl(): string {
  const [file = ''] = segmentsIn(join(recorded.directory, '.orangebox'));
  return /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(file, 'latin1'))?.[0] ?? '';
}

function segmentsIn(directory: string): string[] {
  const segments = join(directory, 'segments');
  return readdirSync(segments).flatMap((date) =>
    readdirSync(join(segments, date)).map((name) => join(segments, date, name)),
  );
}

/** A copy of the recording under another name, changed by the way. */
function copyAs(name: string, change: (segment: string) => void = () => undefined): string {
  const directory = join(recorded.directory, name);
  cpSync(join(recorded.directory, '.orangebox'), join(directory, '.orangebox'), { recursive: true });
  for (const file of segmentsIn(join(directory, '.orangebox'))) change(file);
  return directory;
}

const COMMAND = ['--', process.execPath, 'chat.mjs'];

describe('a check', () => {
  it('replays the recorded command of this place, once somebody agreed', async () => {
    expect(await check('.orangebox')).toMatchObject({ code: 6, stdout: '' });
    const { code, stdout } = await check('.orangebox', '--yes');
    expect(stdout).toContain('1 run replayed, 0 failed');
    expect(code).toBe(0);
  });

  it('gives one verdict for each recording, JUnit, and the exit code of the weightiest', async () => {
    copyAs('several/a');
    copyAs('several/b', (segment) => appendFileSync(segment, 'what is no frame'));
    copyAs('several/c', (segment) => truncateSync(segment, 2000));
    copyAs('several/d', (segment) => writeFileSync(segment, 'no segment'));
    const { code, stdout } = await check('several', '--junit', 'junit.xml', '--jobs', '2', ...COMMAND);
    const verdicts = stdout
      .split('\n')
      .map((line) => /^(\S+) +\S+ (?:run )? *several\/(.)/.exec(line)?.slice(1, 3).join(' '));
    expect(verdicts.filter(Boolean)).toEqual(['replayed a', 'damaged b', 'damaged c', 'OBX_RUN_NOT_FOUND d']);
    expect(stdout).toContain('1 run replayed, 3 failed');
    expect(code).toBe(3);
    const xml = readFileSync(join(recorded.directory, 'junit.xml'), 'utf8');
    expect(xml).toContain('<testsuites tests="4" failures="2" errors="1"');
    expect(xml.match(/<testcase /g)).toHaveLength(4);
  });

  it('says which run another program is not', async () => {
    writeFileSync(join(recorded.directory, 'other.mjs'), 'console.log(1);\n');
    const { code, stdout } = await check('.orangebox', '--json', '--', process.execPath, 'other.mjs');
    const [line = ''] = stdout.trim().split('\n');
    expect(JSON.parse(line)).toMatchObject({ runId: recorded.runId, receipt: { verdict: 'wrong_program', served: 0 } });
    expect(code).toBe(14);
  });

  it('ends a program that never ends', async () => {
    writeFileSync(
      join(recorded.directory, 'endless.mjs'),
      'setInterval(() => undefined, 1000); await new Promise(() => undefined);\n',
    );
    const { code, stdout } = await check('.orangebox', '--timeout', '3s', '--', process.execPath, 'endless.mjs');
    expect(stdout).toMatch(/^(?:OBX_REPLAY_TIMEOUT|wrong_program|diverged)/);
    expect(code).not.toBe(0);
  });

  it('of nothing is no success', async () => {
    mkdirSync(join(recorded.directory, 'empty'));
    expect((await check('empty', ...COMMAND)).code).toBe(3);
    expect((await check('nowhere', ...COMMAND)).code).toBe(3);
    expect((await check('.orangebox', '--jobs', 'many', ...COMMAND)).code).toBe(2);
    expect((await check('.orangebox', '--', './no-such-program')).code).toBe(3);
  });

  it('of recordings from elsewhere runs no command that they name', async () => {
    const directory = copyAs('imported');
    writeFileSync(join(directory, '.orangebox', 'environment.key'), Buffer.alloc(32, 1));
    const { code, stderr } = await check('imported', '--yes');
    expect(stderr).toContain('was not recorded in this directory');
    expect(code).toBe(6);
  });
});
