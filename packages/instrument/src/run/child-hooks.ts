/** Hooks in the start of child processes: all of `spawn`, `exec`, `execFile`, `fork` in one place, and the three that wait. */
import type { ChildProcess, SpawnSyncReturns } from 'node:child_process';
import { basename, relative, resolve } from 'node:path';
import type { ChildPort, ChildStart, Undo } from './ports.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';

/** Tells a child process whose child it is. */
const PARENT_VARIABLE = 'ORANGEBOX_RUN_PARENT';

/** As `ChildProcess.spawn` gets it. */
interface SpawnOptions {
  file?: unknown;
  args?: unknown;
  cwd?: unknown;
  envPairs?: string[];
  stdio?: unknown;
}

interface SyncOptions {
  cwd?: string | URL;
  env?: NodeJS.ProcessEnv;
  stdio?: unknown;
  encoding?: BufferEncoding | 'buffer' | null;
  input?: string | Uint8Array;
  shell?: boolean | string;
  argv0?: string;
}

type SyncResult = Omit<SpawnSyncReturns<string | Buffer | null>, 'output'> & {
  output: (string | Buffer | null)[] | null;
};

/** Puts the hooks in place. `runId`: what children are told; undefined: nothing. */
export function hookChildren(port: ChildPort, runId: string | undefined): Undo {
  const module = process.getBuiltinModule('node:child_process') as unknown as Record<string, AnyFunction> & {
    ChildProcess: { prototype: ChildProcess };
  };
  const base = process.cwd();
  const sync = new SyncChildren(port, module['spawnSync'] as AnyFunction, runId, base);
  return undoAll([
    replaceMethod(module.ChildProcess.prototype, 'spawn', (original) => {
      const spawn: AnyFunction = function spawn(this: ChildProcess, options: SpawnOptions) {
        const real = (): unknown => Reflect.apply(original, this, [options]);
        if (typeof options?.file !== 'string' || !Array.isArray(options.args)) return real();
        const stdio = stdioOf(options.stdio);
        const start: ChildStart = {
          file: basename(options.file),
          argv: options.args.slice(1).map(String),
          cwd: relative(base, resolve(base, typeof options.cwd === 'string' ? options.cwd : '.')),
          inherits: { stdout: isInherited(stdio[1], 1), stderr: isInherited(stdio[2], 2) },
          pipes: { stdin: stdio[0] === 'pipe', stdout: stdio[1] === 'pipe', stderr: stdio[2] === 'pipe' },
          hasMessages: stdio.includes('ipc'),
        };
        if (runId !== undefined) options.envPairs = [...(options.envPairs ?? []), `${PARENT_VARIABLE}=${runId}`];
        // What a child would write to the program's own output has to come by us, to be on record.
        options.stdio = stdio.map((entry, fd) => (fd > 0 && fd < 3 && isInherited(entry, fd) ? 'pipe' : entry));
        return port.spawn(this, start, real);
      };
      return spawn;
    }),
    replaceMethod(module, 'spawnSync', (original) => (...args: unknown[]) => {
      const [file, list, options] = parsed(args);
      return typeof file === 'string' ? sync.spawn(file, list, options) : (original(...args) as unknown);
    }),
    replaceMethod(module, 'execFileSync', (original) => (...args: unknown[]) => {
      const [file, list, options] = parsed(args);
      return typeof file === 'string' ? sync.exec(file, list, options) : (original(...args) as unknown);
    }),
    replaceMethod(module, 'execSync', (original) => (command: unknown, options: SyncOptions = {}) => {
      if (typeof command !== 'string') return original(command, options) as unknown;
      return sync.exec(command, [], { ...options, shell: options.shell ?? true }, command);
    }),
  ]);
}

/** `(file, [args], [options])`. */
function parsed(args: readonly unknown[]): [file: unknown, list: string[], options: SyncOptions] {
  const [file, second, third] = args;
  const list = Array.isArray(second) ? second.map(String) : [];
  const options = Array.isArray(second) || second === undefined || second === null ? third : second;
  return [file, list, (options ?? {}) as SyncOptions];
}

/** The functions that wait, over one of the platform's. */
class SyncChildren {
  readonly #port: ChildPort;
  readonly #real: AnyFunction;
  readonly #runId: string | undefined;
  readonly #base: string;

  constructor(port: ChildPort, real: AnyFunction, runId: string | undefined, base: string) {
    this.#port = port;
    this.#real = real;
    this.#runId = runId;
    this.#base = base;
  }

  spawn(file: string, args: string[], options: SyncOptions): SyncResult {
    const stdio = stdioOf(options.stdio);
    const cwd = typeof options.cwd === 'string' ? options.cwd : '.';
    const { input = '', encoding } = options;
    const start = {
      file: basename(file),
      argv: args,
      cwd: relative(this.#base, resolve(this.#base, cwd)),
      // As the platform reads a text.
      input: typeof input === 'string' ? Buffer.from(input, (encoding ?? undefined) as BufferEncoding) : input,
    };
    const ran = this.#port.runSync(start, () => {
      const env = { ...(options.env ?? process.env) };
      if (this.#runId !== undefined) env[PARENT_VARIABLE] = this.#runId;
      const piped = stdio.map((entry, fd) => (fd > 0 && isInherited(entry, fd) ? 'pipe' : entry));
      const result = this.#real(file, args, {
        ...options,
        env,
        stdio: piped,
        encoding: 'buffer',
        ...(options.input === undefined ? {} : { input: start.input }),
      }) as SpawnSyncReturns<Buffer>;
      const { pid, status, signal, error } = result;
      const [, stdout = null, stderr = null] = (result.output as (Buffer | null)[] | null) ?? [];
      return { pid, status, signal, stdout, stderr, ...(error ? { error } : {}) };
    });
    const give = (bytes: Uint8Array | null, fd: 1 | 2): string | Buffer | null => {
      if (bytes === null) return null;
      if (isInherited(stdio[fd], fd)) {
        (fd === 1 ? process.stdout : process.stderr).write(bytes);
        return null;
      }
      const whole = Buffer.from(bytes);
      return encoding && encoding !== 'buffer' ? whole.toString(encoding) : whole;
    };
    const stdout = give(ran.stdout, 1);
    const stderr = give(ran.stderr, 2);
    const { pid, status, signal, error } = ran;
    const output = error && pid === 0 ? null : [null, stdout, stderr];
    return {
      pid,
      output,
      stdout,
      stderr,
      status,
      signal: signal as NodeJS.Signals | null,
      ...(error ? { error } : {}),
    };
  }

  /** `execFileSync`, and with a command `execSync`: the output, or an error with all of it. */
  exec(file: string, args: string[], options: SyncOptions, command?: string): string | Buffer | null {
    const result = this.spawn(file, args, options);
    if (!options.stdio && result.stderr) process.stderr.write(result.stderr);
    const { error, status, stderr } = result;
    if (error) throw Object.assign(error, result);
    if (status !== 0) {
      const what = command ?? [options.argv0 ?? file, ...args].join(' ');
      const said = stderr && stderr.length > 0 ? `\n${stderr.toString()}` : '';
      throw Object.assign(new Error(`Command failed: ${what}${said}`), result);
    }
    return result.stdout;
  }
}

/** One entry for each of the first three descriptors, and what else there is. */
function stdioOf(stdio: unknown): unknown[] {
  const list = Array.isArray(stdio) ? [...(stdio as unknown[])] : [stdio, stdio, stdio];
  while (list.length < 3) list.push('pipe');
  return list.map((entry) => entry ?? 'pipe');
}

function isInherited(entry: unknown, fd: number): boolean {
  if (entry === 'inherit' || entry === fd) return true;
  return entry === (fd === 1 ? process.stdout : process.stderr);
}
