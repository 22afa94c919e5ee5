/** What people run into, and are told. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startCli } from '../cli/spawn.ts';
import { inRepository } from '../helpers/repository.ts';
import { startProvider } from '../fixtures/provider/server.mjs';
import { cleanUp, KEY, placeProgram, recordProgram } from './harness.ts';

afterAll(cleanUp);

const NODE = process.execPath;

it('a run whose requests were made by a child process is no success, and names the run of the child', async () => {
  const directory = placeProgram({ file: 'starter.mjs' });
  copyFileSync(inRepository('test/run-replay/programs/set-up.mjs'), join(directory, 'set-up.mjs'));
  const provider = await startProvider({ script: '' });
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${provider.url}/v1` };
  const command = [NODE, 'starter.mjs'];
  const recorded = await startCli(['run', '--replayable', '--', ...command], { cwd: directory, env }).ended;
  await provider.close();
  expect(provider.requests.length).toBe(3);
  const child = /node set-up\.mjs is a run of its own, (run-[0-9a-f]{12}): record it by itself/.exec(
    recorded.stderr,
  )?.[1];
  expect(child).toBeDefined();
  const again = await startCli(['replay', 'last', '--', ...command], { cwd: directory, env }).ended;
  expect(again.code).toBe(13);
  expect(again.stderr).toContain(`node set-up.mjs, which was served and not replayed: replay ${child}`);
  const own = await startCli(['replay', child ?? '', '--', NODE, 'set-up.mjs'], { cwd: directory, env }).ended;
  expect(own.code).toBe(0);
  const several = await startCli(['replay', 'run-', '--', ...command], { cwd: directory, env }).ended;
  expect(several.code).toBe(3);
  expect(several.stderr).toContain('several runs begin with run-');
  expect(several.stderr).toContain(`${child} (node set-up.mjs)`);
});

it('a program that fails before its next request says why itself, and what it misses of its environment is named', async () => {
  const run = await recordProgram({ file: 'chat.mjs' });
  const { OPENAI_API_KEY: _, ...without } = run.env;
  const command = [NODE, 'chat.mjs'];
  const again = await startCli(['replay', run.runId, '--', ...command], { cwd: run.directory, env: without }).ended;
  expect(again.code).toBe(10);
  expect(again.stderr).toContain('Missing credentials');
  expect(again.stderr).toContain('OPENAI_API_KEY was set on record and is not now');
  const file = join(run.directory, 'chat.mjs');
  writeFileSync(file, `throw new Error('my own mistake');\n${readFileSync(file, 'utf8').replace(/^import .*$/gm, '')}`);
  expect((await run.replay()).stderr).toContain('my own mistake');
});

it('a run that was killed is not offered for a replay', async () => {
  const directory = placeProgram({ file: 'ends.mjs' });
  writeFileSync(join(directory, 'waits.mjs'), "setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50);");
  const { signal, stderr } = await startCli(['run', '--replayable', '--', NODE, 'waits.mjs'], { cwd: directory }).ended;
  expect(signal).toBe('SIGKILL');
  expect(stderr).toMatch(/run-[0-9a-f]{12} did not end in order/);
  expect(stderr).not.toContain('npx orangebox replay');
});

it('purge removes the contents of files that no run needs any more', async () => {
  const run = await recordProgram({ file: 'set-up.mjs' });
  const contents = join(run.directory, '.orangebox', 'files');
  expect(readdirSync(contents).length).toBeGreaterThan(0);
  const stray = join(contents, 'f'.repeat(64));
  writeFileSync(stray, 'of a run that is gone');
  const purged = await startCli(['purge', '--before', '0s', '--yes'], { cwd: run.directory }).ended;
  expect(purged.stderr).toBe('');
  expect(existsSync(stray)).toBe(false);
});

it('a program that imports what lies beside its directory is told how to be replayed', async () => {
  const outer = placeProgram({ file: 'set-up.mjs' });
  const directory = join(outer, 'agent');
  mkdirSync(directory);
  writeFileSync(join(outer, 'shared.mjs'), "export const word = 'shared';");
  writeFileSync(
    join(directory, 'app.mjs'),
    "import { word } from '../shared.mjs';\nconsole.log(word, Date.now() > 0);",
  );
  const command = [NODE, 'app.mjs'];
  await startCli(['run', '--replayable', '--', ...command], { cwd: directory }).ended;
  const again = await startCli(['replay', 'last', '--', ...command], { cwd: directory }).ended;
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain('a module was not found');
  const there = await startCli(['replay', 'last', '--in-place', '--', ...command], { cwd: directory }).ended;
  expect(there.stdout).toBe('shared true\n');
});
