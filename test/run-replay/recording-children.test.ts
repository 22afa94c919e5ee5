/** Programs whose children are recorded do what they do without us: terminals, sizes, ends, and no secret on the disk. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type CliResult, cleanEnv, cliOnTerminal, hasTerminal, plain, startCli } from '../cli/spawn.ts';

const SECRET = 'sk-recorded-child-0123456789abcdefghij';
const directories: string[] = [];

afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A directory with a program. */
function place(source: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'obx-recorded-children-'));
  directories.push(directory);
  writeFileSync(join(directory, 'program.mjs'), source);
  return directory;
}

/** Records a program. */
async function record(
  source: string,
  env: { [name: string]: string } = {},
): Promise<CliResult & { directory: string }> {
  const directory = place(source);
  const args = ['run', '--replayable', '--', process.execPath, 'program.mjs'];
  return { ...(await startCli(args, { cwd: directory, env }).ended), directory };
}

/** The same program without us. */
function alone(source: string): { code: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, ['program.mjs'], {
    cwd: place(source),
    env: cleanEnv(),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { code: status, stdout };
}

async function replay(
  directory: string,
  env: { [name: string]: string } = {},
  options: string[] = [],
): Promise<CliResult> {
  const args = ['replay', 'last', ...options, '--', process.execPath, 'program.mjs'];
  return startCli(args, { cwd: directory, env }).ended;
}

describe('a recorded program', () => {
  it.skipIf(!hasTerminal)('keeps its terminal for its children', async () => {
    const directory = place(`
      import { spawn, spawnSync, execFileSync } from 'node:child_process';
      const ask = ['-e', 'process.stdout.write(process.argv[1] + " " + process.stdout.isTTY + " " + process.stderr.isTTY + "\\\\n")'];
      spawnSync(process.execPath, [...ask, 'waited'], { stdio: 'inherit' });
      execFileSync(process.execPath, [...ask, 'file'], { stdio: [0, 1, process.stderr] });
      spawn(process.execPath, [...ask, 'beside'], { stdio: 'inherit' });
    `);
    const args = ['run', '--replayable', '--', process.execPath, 'program.mjs'];
    const { code, stdout } = await cliOnTerminal(args, { cwd: directory });
    const said = plain(stdout);
    expect(code).toBe(0);
    for (const name of ['waited', 'file', 'beside']) expect(said).toContain(`${name} true true\n`);
    expect(said).toMatch(/not replayable: 3 .*output of node.* that did not come by the program/);
  });

  it('has output of any size from a child that it waits for, and is told that it is not on record', async () => {
    const source = `
      import { execSync, spawnSync } from 'node:child_process';
      const { status, error } = spawnSync('sh', ['-c', 'head -c 3000000 /dev/zero | tr "\\\\0" x'], { stdio: 'inherit' });
      execSync('echo; echo command', { stdio: ['ignore', 'inherit', 'pipe'] });
      console.log(status, error);
    `;
    const { code, stdout, stderr, directory } = await record(source);
    const expected = alone(source);
    expect(expected.stdout).toHaveLength(3_000_000 + '\ncommand\n0 undefined\n'.length);
    expect(stdout === expected.stdout).toBe(true);
    expect(code).toBe(0);
    expect(stderr).toMatch(/not replayable: 2 .*output of sh.* that did not come by the program/);
    const again = await replay(directory);
    expect(again.stdout).toBe('0 undefined\n');
    expect(again.stderr).toContain('not replayable: 2 × output of sh that did not come by the program');
  });

  it('loses no output where it ends when its child does', async () => {
    const source = `
      import { spawn } from 'node:child_process';
      const child = spawn('sh', ['-c', 'seq 1 9000; echo last'], { stdio: 'inherit' });
      child.on('exit', (code) => process.exit(code + 3));
    `;
    const { code, stdout, directory } = await record(source);
    expect({ code, stdout }).toEqual(alone(source));
    expect({ code, end: stdout.slice(-5) }).toEqual({ code: 3, end: 'last\n' });
    const again = await replay(directory);
    expect({ stdout: again.stdout, verdict: /replayed/.exec(again.stderr)?.[0] }).toEqual({
      stdout,
      verdict: 'replayed',
    });
  });

  it('loses no output where it ends before its child does, and had no turn to read it', async () => {
    const source = `
      import { spawn } from 'node:child_process';
      import { existsSync } from 'node:fs';
      const child = spawn('sh', ['-c', 'seq 1 9000; echo last; touch done; exec sleep 600'], { stdio: 'inherit' });
      while (!existsSync('done'));
      process.on('exit', () => child.kill());
      process.exit(3);
    `;
    const { code, stdout } = await record(source);
    expect({ code, stdout }).toEqual(alone(source));
    expect({ code, end: stdout.slice(-5) }).toEqual({ code: 3, end: 'last\n' });
  });

  it('ends although a child runs on that it does not hold', async () => {
    const source = `
      import { spawn } from 'node:child_process';
      const child = spawn('sleep', ['600'], { stdio: ['ignore', 'inherit', 'inherit'] });
      child.unref();
      process.on('exit', () => console.log(child.pid));
    `;
    const { code, stdout } = await record(source);
    // It was there to the end of the program, and beyond.
    expect(process.kill(Number(stdout), 'SIGKILL')).toBe(true);
    expect(code).toBe(0);
  });

  it('has a child that outlives it write where it would', async () => {
    const source = `
      import { spawn } from 'node:child_process';
      import { rmSync } from 'node:fs';
      const script = 'while [ -e program.mjs ]; do sleep 0.02; done; echo late && echo written >&2';
      const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
      child.unref();
      process.on('exit', () => rmSync('program.mjs'));
    `;
    const { code, stdout, stderr } = await record(source);
    expect(code).toBe(0);
    expect(stdout).toBe('late\n');
    expect(stderr).toContain('written\n');
    expect(stderr).toContain('output of sh that did not come by the program');
  });

  it('has what its children write go past what it puts in the place of its own output', async () => {
    const source = `
      import { spawn } from 'node:child_process';
      const { write } = process.stdout;
      process.stdout.write = (text, ...rest) => write.call(process.stdout, 'own: ' + text, ...rest);
      console.log('here');
      spawn('echo', ['there'], { stdio: 'inherit' }).on('close', () => console.log('end'));
    `;
    const { code, stdout } = await record(source);
    expect({ code, stdout }).toEqual(alone(source));
    expect(stdout).toBe('own: here\nthere\nown: end\n');
  });

  it('has what children of its workers write, at once, and is told that it is not on record', async () => {
    const source = `
      import { Worker } from 'node:worker_threads';
      const run = "require('child_process').spawn('echo', ['from a worker'], { stdio: 'inherit' })";
      new Worker(run + ".on('exit', () => process.exit())", { eval: true }).on('exit', () => console.log('end'));
    `;
    const { code, stdout, stderr } = await record(source);
    expect({ code, stdout }).toEqual(alone(source));
    expect(stdout).toBe('from a worker\nend\n');
    expect(stderr).toContain('output of echo that did not come by the program');
  });

  it('writes no secret in a command, a name or an error to the disk', async () => {
    const source = `
      import { execSync, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
      import { mkdirSync } from 'node:fs';
      const secret = process.env.SERVICE_API_KEY;
      mkdirSync(secret);
      execSync('true /path/' + secret);
      execSync('true ' + secret, { cwd: secret });
      spawnSync('true', [secret], { shell: true, cwd: new URL(secret, import.meta.url) });
      spawnSync('./' + secret);
      try { execFileSync('./' + secret + '/x'); } catch {}
      spawn('./' + secret + '-none').on('error', () => {});
      execFile('./' + secret + '-none', () => {});
      execSync('echo ' + secret, { stdio: ['ignore', 'inherit', 'ignore'] });
    `;
    const env = { SERVICE_API_KEY: SECRET };
    const { code, directory } = await record(source, env);
    expect(code).toBe(0);
    const bytes = files(join(directory, '.orangebox')).map((file) => readFileSync(file));
    expect(bytes.length).toBeGreaterThan(1);
    expect(bytes.filter((one) => one.includes(SECRET))).toEqual([]);
    expect(bytes.some((one) => one.includes('{{secret:env.SERVICE_API_KEY}}'))).toBe(true);
    rmSync(join(directory, SECRET), { recursive: true });
    // In a copy, a file whose name holds a secret is one of another name: what it is called is not on record.
    const again = await replay(directory, env, ['--in-place']);
    expect(again.stderr).toMatch(/^replayed/m);
  });
});

it('a program with a warning of the platform, which has the number of the process in it, is as recorded', async () => {
  const { stderr, directory } = await record(`process.emitWarning('careful'); console.log('done');`);
  expect(stderr).toMatch(/^\(node:\d+\) Warning: careful$/m);
  const again = await replay(directory);
  expect(again.stderr).not.toContain('standard error:');
  expect(/\(node:\d+\)/.exec(again.stderr)?.[0]).toBe(/\(node:\d+\)/.exec(stderr)?.[0]);
});

function files(directory: string): string[] {
  mkdirSync(directory, { recursive: true });
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
