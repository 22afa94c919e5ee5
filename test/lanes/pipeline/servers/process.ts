/** A server as a child process: started, waited for, watched, stopped, and gone when the test process is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A server that answers. */
export interface RunningServer {
  /** The address that people ask: what it is for is said by the function that started it. */
  readonly url: string;
  /** Its folder: data, configuration and log. Removed by `stop()`. */
  readonly directory: string;
  /** Process id; another one after `restart()`. */
  readonly pid: number;
  /** Everything that it wrote to stdout and stderr, of all its starts. */
  log(): string;
  /** Resident memory in bytes, now. */
  rssBytes(): number;
  /** The most resident memory that the present process has had, in bytes. */
  peakRssBytes(): number;
  /** Sends a signal (SIGKILL unless said otherwise) and waits until the process has ended. Its data stay, see `restart()`. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts an ended one again: same ports, same data, other environment where given. */
  restart(env?: Environment): Promise<void>;
  /** Lets it hang: it keeps its connections and answers nothing. */
  pause(): void;
  /** Ends `pause()`. */
  resume(): void;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Variables of a process. */
export type Environment = Readonly<Record<string, string>>;

/** How a server is started. */
export interface ServerPlan {
  name: string;
  /** Its folder, from `serverDirectory`. */
  directory: string;
  command: string;
  args: readonly string[];
  env?: Environment;
  url: string;
  /** Answers 2xx once the server is ready. */
  readyUrl: string;
  /** How long it may take to be ready; default 60 s, for a busy machine. */
  readyTimeoutMs?: number;
  /** The signal that ends it fastest without harm. */
  stopSignal?: NodeJS.Signals;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A new folder for a server's data and log. */
export const serverDirectory = (name: string): string => mkdtempSync(join(tmpdir(), `orangebox-${name}-`));

/** Starts a server and waits until it answers; fails with the end of its log where it does not. */
export async function startServer(plan: ServerPlan): Promise<RunningServer> {
  const logFile = join(plan.directory, `${plan.name}.log`);
  let env = plan.env ?? {};
  let child = await launch(plan, env, logFile);

  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  const status = (field: string): number => {
    const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
    return Number(found?.[1] ?? 0) * 1024;
  };
  return {
    url: plan.url,
    directory: plan.directory,
    get pid() {
      return child.pid as number;
    },
    log: () => readFileSync(logFile, 'utf8'),
    rssBytes: () => status('VmRSS'),
    peakRssBytes: () => status('VmHWM'),
    kill,
    async restart(changed) {
      await kill();
      env = changed ?? env;
      child = await launch(plan, env, logFile);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async stop() {
      child.kill('SIGCONT');
      const late = AbortSignal.timeout(10_000);
      late.addEventListener('abort', () => child.kill('SIGKILL'));
      await kill(plan.stopSignal ?? 'SIGTERM');
      if (process.env['KEEP_SERVER_FILES'] === undefined) rmSync(plan.directory, { recursive: true, force: true });
    },
  };
}

async function launch(plan: ServerPlan, env: Environment, logFile: string): Promise<ChildProcess> {
  // The log is a file, not a pipe: a test that is busy never holds the server up.
  const log = openSync(logFile, 'a');
  const child = spawn(plan.command, plan.args, {
    cwd: plan.directory,
    env: cleanEnvironment({ HOME: plan.directory, TMPDIR: plan.directory, ...env }),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  running.add(child);
  child.once('exit', () => running.delete(child));
  await once(child, 'spawn');
  guard(child, plan.directory);
  try {
    await untilReady(plan, child);
  } catch (error) {
    child.kill('SIGKILL');
    const tail = readFileSync(logFile, 'utf8').slice(-4000);
    throw new Error(`${plan.name} ${(error as Error).message}; the end of its log:\n${tail}`, { cause: error });
  }
  return child;
}

/**
 * Ends the server when this process has gone without a word (SIGKILL, out of memory): a shell waits for the end of a pipe that
 * only we hold. Where all goes well the server ends first, and the shell is ended without having done anything.
 */
function guard(child: ChildProcess, directory: string): void {
  const shell = spawn('sh', ['-c', 'read line; kill -9 "$1"; rm -rf "$2"', 'sh', String(child.pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  child.once('exit', () => shell.kill('SIGKILL'));
}

async function untilReady(plan: ServerPlan, child: ChildProcess): Promise<void> {
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  const deadline = Date.now() + (plan.readyTimeoutMs ?? 60_000);
  while (!ended.signal.aborted) {
    if (Date.now() > deadline) throw new Error('was not ready in time');
    if (await answersOk(plan.readyUrl)) return;
    await wait(40);
  }
  throw new Error(`ended at its start with ${child.exitCode ?? child.signalCode}`);
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** What a server or program gets of our environment: nothing that could send it elsewhere (proxies, credentials, certificates). */
export function cleanEnvironment(extra: Environment = {}): Record<string, string> {
  const { PATH = '', LANG, TZ } = process.env;
  const kept = { PATH, ...(LANG === undefined ? {} : { LANG }), ...(TZ === undefined ? {} : { TZ }) };
  return { ...kept, ...extra };
}
