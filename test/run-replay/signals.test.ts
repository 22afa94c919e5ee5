/** A run that hung, and was ended by a signal: it is replayed up to there. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CliResult, startCli } from '../cli/spawn.ts';
import { startProvider } from '../fixtures/provider/server.mjs';
import { cleanUp, KEY, placeProgram } from './harness.ts';

const command = [process.execPath, 'hangs.mjs'];
let directory: string;
let env: Record<string, string>;
let recorded: CliResult;

beforeAll(async () => {
  directory = placeProgram({ file: 'hangs.mjs' });
  const provider = await startProvider({ script: '' });
  env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${provider.url}/v1` };
  const running = startCli(['run', '--replayable', '--', ...command], { cwd: directory, env });
  await running.said('beat 3');
  running.child.kill('SIGINT');
  recorded = await running.ended;
  await provider.close();
}, 60_000);
afterAll(cleanUp);

it('dies of the signal, and is offered for a replay', () => {
  expect([recorded.code, recorded.signal]).toEqual([null, 'SIGINT']);
  expect(recorded.stderr).toMatch(/recorded (run-[0-9a-f]{12}): npx orangebox replay/);
});

it('is listed with how it ended, in a pipe, in a table and as JSON', async () => {
  const list = async (...options: string[]): Promise<string> =>
    (await startCli(['ls', '--runs', ...options], { cwd: directory, env }).ended).stdout;
  expect(await list()).toMatch(/^run-[0-9a-f]{12}\t\d{19}\tSIGINT\tnode hangs\.mjs\n$/);
  expect(await list('--table')).toMatch(
    /^run +age +end +requests +command\nrun-[0-9a-f]{12} .* SIGINT +3 +node hangs\.mjs\n$/,
  );
  expect(JSON.parse(await list('--json'))).toMatchObject([
    { exitCode: 130, signal: 'SIGINT', requests: 3, processes: 0, threads: 1, notReplayable: [], isDamaged: false },
  ]);
});

it('is replayed up to there, in another directory than its own', async () => {
  for (let i = 0; i < 2; i++) {
    const again = await startCli(['replay', 'last', '--', ...command], { cwd: directory, env }).ended;
    expect(again.code).toBe(0);
    // Between the signal and its end the program may beat once more.
    expect(recorded.stdout.startsWith(again.stdout)).toBe(true);
    expect(again.stdout).toContain('beat 3\n');
    expect(again.stderr).toContain('SIGINT ended the run: it was replayed up to there');
    expect(again.stderr).toContain('served    3 of 3 requests');
  }
});

it('is told apart from a program that ends by itself, or prints something else', async () => {
  const program = join(directory, 'hangs.mjs');
  const text = readFileSync(program, 'utf8');
  writeFileSync(program, text.replace("console.log('turn', turn", "console.log('Turn', turn"));
  const other = await startCli(['replay', 'last', '--', ...command], { cwd: directory, env }).ended;
  expect([other.code, other.stderr]).toEqual([11, expect.stringContaining('not as recorded: standard output')]);
  expect(other.stderr).toContain(
    '  standard output, line 1, is the first that differs:\n    - turn 1 true\n    + Turn 1 true\n',
  );
  writeFileSync(program, text.replace('let beats = 0;', 'process.exit(0);\nlet beats = 0;'));
  const ended = await startCli(['replay', 'last', '--', ...command], { cwd: directory, env }).ended;
  expect([ended.code, ended.stderr]).toEqual([11, expect.stringContaining('exit code: 130 on record, 0 now')]);
  writeFileSync(program, text);
});
