/** Runs the built `orangebox` command as a person or a script would. */
import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The built command. */
export const CLI: string = fileURLToPath(new URL('../../packages/orangebox/dist/cli.mjs', import.meta.url));

/** What a run of the command left. */
export interface CliResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Options of a run. */
export interface CliOptions {
  cwd: string;
  env?: { readonly [name: string]: string };
  stdin?: string;
  /** Its standard input is a pipe that stays open, to be written to. */
  hasInput?: boolean;
  uid?: number;
}

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG'];

/** The surroundings of a run: nothing of the test's own environment decides an outcome. */
export function cleanEnv(extra: { readonly [name: string]: string } = {}): { [name: string]: string } {
  const env: { [name: string]: string } = {};
  for (const name of INHERITED) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...extra };
}

/** Runs the command with pipes, as in a script. */
export function cli(args: readonly string[], options: CliOptions): CliResult {
  const result = spawnSync(process.execPath, [CLI, ...args], {
    cwd: options.cwd,
    env: cleanEnv(options.env),
    encoding: 'utf8',
    input: options.stdin ?? '',
    maxBuffer: 256 * 1024 * 1024,
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  if (result.error) throw result.error;
  return { code: result.status, signal: result.signal, stdout: result.stdout, stderr: result.stderr };
}

/** A command that runs beside the test, which may serve what it asks for. */
export interface RunningCli {
  child: ChildProcess;
  /** What it has written to standard output so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when the text stands in standard output; rejects when the command ends before. */
  said(text: string): Promise<void>;
  ended: Promise<CliResult>;
}

/** Starts the command with pipes. */
export function startCli(args: readonly string[], options: CliOptions): RunningCli {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: options.cwd,
    env: cleanEnv(options.env),
    stdio: [options.hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  const texts = { stdout: '', stderr: '' };
  let heard: (() => void)[] = [];
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
      for (const listener of heard) listener();
    });
  }
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, ...texts }));
  });
  return {
    child,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!texts.stdout.includes(text)) return;
          heard = heard.filter((listener) => listener !== look);
          resolve();
        };
        heard.push(look);
        look();
        void ended.then(() => reject(new Error(`it ended without "${text}": ${texts.stdout}${texts.stderr}`)));
      }),
    ended,
  };
}

/** Runs the command while the test's own servers answer it. */
export function cliBeside(args: readonly string[], options: CliOptions): Promise<CliResult> {
  return startCli(args, options).ended;
}

/** Whether `script` of util-linux is there to give a pseudo-terminal. */
export const hasTerminal: boolean =
  spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') ?? false;

/** Runs the command on a pseudo-terminal of a width; what it wrote to either stream is in `stdout`. */
export function cliOnTerminal(
  args: readonly string[],
  options: CliOptions & { columns?: number; typedAt?: string },
): Promise<CliResult> {
  const words = [process.execPath, CLI, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const command = `stty cols ${options.columns ?? 110} rows 40 -echo; exec ${words}`;
  const child = spawn('script', ['-q', '-e', '-c', command, '/dev/null'], {
    cwd: options.cwd,
    env: { ...cleanEnv({ TERM: 'xterm-256color', SHELL: '/bin/sh' }), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    // Typed once the question stands there, as a person would.
    if (options.stdin !== undefined && text.includes(options.typedAt ?? '[y/N]')) child.stdin.write(options.stdin);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      child.stdin.destroy();
      resolve({ code, signal, stdout: stdout.replaceAll('\r\n', '\n'), stderr: '' });
    });
  });
}

/** Text without colours. */
export function plain(text: string): string {
  return text.replace(/\u001b\[[0-9;]*m/g, '');
}
