/** `orangebox run` and `orangebox path`: the child is as it would be alone, but recorded. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, cleanEnv, cli, cliOnTerminal, hasTerminal, plain } from './spawn.ts';

let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-run-'));
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const node = (script: string): string[] => ['run', '--', process.execPath, '-e', script];

describe('orangebox path', () => {
  it('prints the absolute path of a file that exists', () => {
    const { stdout } = cli(['path'], { cwd });
    expect(stdout).toMatch(/^\/.*register\.cjs\n$/);
    expect(existsSync(stdout.trim())).toBe(true);
  });
});

describe('orangebox run', () => {
  it('ends with the exit code of the child, and adds not a byte of output in a pipe', () => {
    const result = cli(node('process.stdout.write("out"); process.stderr.write("err"); process.exit(42)'), { cwd });
    expect(result).toEqual({ code: 42, signal: null, stdout: 'out', stderr: 'err' });
  });

  it('ends by the signal that ended the child', () => {
    expect(cli(node('process.kill(process.pid, "SIGKILL")'), { cwd }).signal).toBe('SIGKILL');
    expect(cli(node('process.kill(process.pid, "SIGTERM"); setInterval(() => 0, 1000)'), { cwd }).signal).toBe(
      'SIGTERM',
    );
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)('passes %s on to the child', async (signal) => {
    const script = `process.on(${JSON.stringify(signal)}, () => { console.log('got it'); process.exit(7); }); console.log('ready'); setInterval(() => 0, 1000)`;
    const child = spawn(process.execPath, [CLI, ...node(script)], {
      cwd,
      env: cleanEnv(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (!stdout.includes('ready') && text.includes('ready')) child.kill(signal);
      stdout += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(stdout).toBe('ready\ngot it\n');
    expect(code).toBe(7);
  });

  it('hands standard input through', () => {
    expect(cli(node('process.stdin.pipe(process.stdout)'), { cwd, stdin: 'from outside' }).stdout).toBe('from outside');
  });

  it('adds the preload to NODE_OPTIONS that are there, for the child alone', () => {
    const register = cli(['path'], { cwd }).stdout.trim();
    const { stdout } = cli(node('console.log(process.env.NODE_OPTIONS)'), {
      cwd,
      env: { NODE_OPTIONS: '--no-deprecation' },
    });
    expect(stdout).toBe(`--no-deprecation --require ${register}\n`);
  });

  it('takes options of the child as the child’s', () => {
    expect(
      cli(
        ['run', process.execPath, '-e', 'console.log(process.argv.slice(1).join())', '--', '--json', '--help', '-d'],
        { cwd },
      ).stdout,
    ).toBe('--json,--help,-d\n');
  });

  it('says what is wrong with a command that cannot run, with the shell’s codes', () => {
    const missing = cli(['run', '--', 'no-such-command-here'], { cwd });
    expect(missing.stderr).toMatch(/^orangebox: no-such-command-here is not there\n {2}hint: /);
    expect(missing.code).toBe(127);
    const file = join(cwd, 'plain.txt');
    writeFileSync(file, '', { mode: 0o644 });
    expect(cli(['run', '--', file], { cwd }).code).toBe(126);
  });

  it('leaves no file behind when nothing was recorded', () => {
    cli(node('0'), { cwd });
    expect(existsSync(join(cwd, '.orangebox'))).toBe(false);
  });

  it.skipIf(!hasTerminal)('says on a terminal when recording starts and when the program has ended', async () => {
    const { stdout, code } = await cliOnTerminal(node('console.log("the program"); process.exit(3)'), { cwd });
    const lines = plain(stdout).trimEnd().split('\n');
    expect(lines[0]).toMatch(/^orangebox recording to \.orangebox$/);
    expect(lines).toContain('the program');
    expect(lines.at(-1)).toMatch(/^orangebox no LLM call was seen/);
    expect(lines).toHaveLength(3);
    expect(code).toBe(3);
  });
});
