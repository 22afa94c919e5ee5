/** `spawnSync`, `execFileSync` and `execSync` over the first of them, in the terms of who stands behind the hooks. */
import type { SpawnSyncReturns } from 'node:child_process';
import {
  cwdOf,
  isInherited,
  isPipe,
  isProgramsOwn,
  OUTPUTS,
  type OutputName,
  stdioOf,
  whatRuns,
} from './child-options.ts';
import type { ChildPort, SyncChildResult } from './ports.ts';
import type { AnyFunction } from './replace.ts';

/** What the three take. */
export interface SyncOptions {
  cwd?: unknown;
  env?: { [name: string]: string | undefined };
  stdio?: unknown;
  encoding?: BufferEncoding | 'buffer' | null;
  input?: unknown;
  shell?: unknown;
  argv0?: string;
}

type SyncResult = SpawnSyncReturns<string | Buffer | null>;

/** Thrown by the probe: the platform has looked at everything else and found nothing to refuse. */
const TAKEN = new Error('taken');
const PROBE: object = new Proxy(
  {},
  {
    get() {
      throw TAKEN;
    },
    getPrototypeOf() {
      throw TAKEN;
    },
  },
);
/** What the platform says of the output of a child that it could not start. */
const NO_OUTPUT = Number.parseInt(process.versions.node, 10) < 22 ? null : undefined;
/** Behind the probe: even if nobody looked at that one, no process is started. */
const NO_KIND = 'orangebox-probe';

/** The functions that wait. */
export class SyncChildren {
  readonly #port: ChildPort;
  readonly #real: AnyFunction;
  readonly #addParent: (env: SyncOptions['env']) => SyncOptions['env'];
  readonly #base: string;

  /** `real`: the platform's `spawnSync`. `addParent`: the environment that a child gets. */
  constructor(
    port: ChildPort,
    real: AnyFunction,
    addParent: (env: SyncOptions['env']) => SyncOptions['env'],
    base: string,
  ) {
    this.#port = port;
    this.#real = real;
    this.#addParent = addParent;
    this.#base = base;
  }

  /** `spawnSync`: what the child left, as the platform gives it. */
  spawn(file: string, args: string[], options: SyncOptions): SyncResult {
    const stdio = stdioOf(options.stdio);
    const { encoding } = options;
    const isInput = !options.input || typeof options.input === 'string' || ArrayBuffer.isView(options.input);
    if (!stdio || !isInput) return this.#real(file, args, options) as SyncResult;
    this.#check(file, args, options, stdio);
    const input = bytesOf(options.input, encoding);
    const start = {
      ...whatRuns(file, args.map(String), options.shell),
      cwd: cwdOf(options.cwd, this.#base),
      hasMorePipes: stdio.slice(3).some(isPipe),
      past: OUTPUTS.filter(([fd]) => isProgramsOwn(stdio[fd], fd)).map(([, name]) => name),
      input,
    };
    let left: SyncResult | undefined;
    const ran = this.#port.runSync(start, () => {
      const env = this.#addParent(options.env);
      // Its output goes where the program said: a terminal stays one, and nothing is held that would not be.
      const result = this.#real(file, args, {
        ...options,
        ...(env ? { env } : {}),
        encoding: 'buffer',
        ...(options.input ? { input } : {}),
      }) as SyncResult;
      left = result;
      const { pid, status, signal, error, stdout, stderr } = result as SpawnSyncReturns<Buffer | null>;
      return { pid, status, signal, stdout: stdout ?? null, stderr: stderr ?? null, ...(error ? { error } : {}) };
    });
    return decoded(left ?? onRecord(ran, stdio), encoding);
  }

  /** `execFileSync`, and with a command `execSync`: the output, or an error with all of it. */
  exec(file: string, args: string[], options: SyncOptions, command?: string): string | Buffer | null {
    const result = this.spawn(file, args, options);
    if (!options.stdio && result.stderr) process.stderr.write(result.stderr);
    const { error, status, stderr } = result;
    if (error) throw Object.assign(error, result);
    if (status !== 0) {
      const what = command ?? [options.argv0 || file, ...args].join(' ');
      const said = stderr && stderr.length > 0 ? `\n${stderr.toString()}` : '';
      throw Object.assign(new Error(`Command failed: ${what}${said}`), result);
    }
    return result.stdout;
  }

  /** What the platform refuses, it refuses by itself: nothing of it is on record, and nothing looked for there. */
  #check(file: string, args: string[], options: SyncOptions, stdio: readonly unknown[]): void {
    try {
      this.#real(file, args, { ...options, stdio: [...stdio, PROBE, NO_KIND] });
    } catch (error) {
      if (error !== TAKEN) throw error;
    }
  }
}

/** As the platform reads an input. */
function bytesOf(input: unknown, encoding: SyncOptions['encoding']): Uint8Array {
  if (ArrayBuffer.isView(input)) return Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  return typeof input === 'string' ? Buffer.from(input, (encoding ?? undefined) as BufferEncoding) : new Uint8Array();
}

/** What is on record, in the form and order of the platform's. */
function onRecord({ pid, status, signal, error, ...outputs }: SyncChildResult, stdio: readonly unknown[]): SyncResult {
  const give = (fd: 1 | 2, name: OutputName): Buffer | null => {
    const bytes = outputs[name];
    if (bytes === null) return null;
    if (!isInherited(stdio[fd], fd)) return Buffer.from(bytes);
    process[name].write(bytes);
    return null;
  };
  const output = [null, ...OUTPUTS.map(([fd, name]) => give(fd, name))];
  // Of further pipes nothing is on record.
  const all = error && pid === 0 ? null : [...output, ...stdio.slice(3).map(() => null)];
  return {
    ...(error ? { error } : {}),
    status,
    signal: signal as NodeJS.Signals | null,
    output: all as SyncResult['output'],
    pid,
    stdout: (all ? output[1] : NO_OUTPUT) as Buffer | null,
    stderr: (all ? output[2] : NO_OUTPUT) as Buffer | null,
  };
}

/** The same object with its output as text, where that was asked for. */
function decoded(result: SyncResult, encoding: SyncOptions['encoding']): SyncResult {
  if (!encoding || encoding === 'buffer') return result;
  const output = result.output as (string | Buffer | null)[] | null;
  if (!output) return result;
  const texts = output.map((bytes) => (Buffer.isBuffer(bytes) ? bytes.toString(encoding) : bytes));
  return Object.assign(result, { output: texts, stdout: texts[1] ?? null, stderr: texts[2] ?? null });
}
