/** Hooks in the start of child processes: all of `spawn`, `exec`, `execFile`, `fork` in one place, and the three that wait. */
import type { ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { cwdOf, isInherited, isPipe, isProgramsOwn, OUTPUTS, stdioOf } from './child-options.ts';
import type { ChildPort, ChildStart, Undo } from './ports.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';
import { SyncChildren, type SyncOptions } from './sync-children.ts';

/** Tells a child process whose child it is. */
const PARENT_VARIABLE = 'ORANGEBOX_RUN_PARENT';

/** As `ChildProcess.spawn` gets it. */
interface SpawnOptions {
  file?: unknown;
  args?: unknown;
  cwd?: unknown;
  detached?: unknown;
  envPairs?: string[];
  stdio?: unknown;
}

/** Puts the hooks in place. `runId`: what children are told; undefined: nothing. */
export function hookChildren(port: ChildPort, runId: string | undefined): Undo {
  const module = process.getBuiltinModule('node:child_process') as unknown as Record<string, AnyFunction> & {
    ChildProcess: { prototype: ChildProcess };
  };
  const { isatty } = process.getBuiltinModule('node:tty');
  const base = process.cwd();
  const withParent = (env: SyncOptions['env']): SyncOptions['env'] => {
    if (runId === undefined) return undefined;
    const all: NonNullable<SyncOptions['env']> = {};
    // As the platform: with what an environment inherits.
    for (const name in env || process.env) all[name] = (env || process.env)[name];
    all[PARENT_VARIABLE] = runId;
    return all;
  };
  const sync = new SyncChildren(port, module['spawnSync'] as AnyFunction, withParent, base);

  const begin = (child: ChildProcess, options: SpawnOptions, real: () => unknown): unknown => {
    const stdio = stdioOf(options?.stdio);
    if (typeof options?.file !== 'string' || !Array.isArray(options.args) || !stdio) return real();
    // A terminal is not taken from a child, nor its output from one that may outlive the program.
    const isLeft = (fd: 1 | 2): boolean =>
      options.detached === true || !isMainThread || isatty(fd) || !isInherited(stdio[fd], fd);
    const owned = OUTPUTS.filter(([fd]) => isProgramsOwn(stdio[fd], fd));
    const start: ChildStart = {
      file: basename(options.file),
      argv: options.args.slice(1).map(String),
      cwd: cwdOf(options.cwd, base),
      inherits: { stdout: isInherited(stdio[1], 1), stderr: isInherited(stdio[2], 2) },
      past: owned.filter(([fd]) => isLeft(fd)).map(([, name]) => name),
      hasMorePipes: stdio.slice(3).some(isPipe),
      pipes: { stdin: isPipe(stdio[0]), stdout: isPipe(stdio[1]), stderr: isPipe(stdio[2]) },
      hasMessages: stdio.includes('ipc'),
    };
    if (runId !== undefined) {
      const others = (options.envPairs ?? []).filter((pair) => !pair.startsWith(`${PARENT_VARIABLE}=`));
      options.envPairs = [...others, `${PARENT_VARIABLE}=${runId}`];
    }
    // What a child would write to the program's own output comes by us, to be on record.
    const taken = owned.filter(([fd]) => !isLeft(fd));
    for (const [fd] of taken) stdio[fd] = 'pipe';
    if (taken.length > 0) options.stdio = stdio;
    return port.spawn(child, start, real);
  };

  return undoAll([
    replaceMethod(module.ChildProcess.prototype, 'spawn', (original) => {
      const { spawn } = {
        spawn(this: ChildProcess, options: SpawnOptions): unknown {
          return begin(this, options, () => Reflect.apply(original, this, [options]) as unknown);
        },
      };
      return spawn;
    }),
    replaceMethod(module, 'spawnSync', (original) => (...args: unknown[]) => {
      const asked = parsed(args);
      return asked ? sync.spawn(...asked) : (original(...args) as unknown);
    }),
    replaceMethod(module, 'execFileSync', (original) => (...args: unknown[]) => {
      // Unlike `spawnSync`, it takes `null` for no options, and a callback, after which nothing counts.
      const given = typeof args[1] === 'function' ? args.slice(0, 1) : args;
      const asked = parsed(given.map((arg) => arg ?? undefined));
      return asked ? sync.exec(...asked) : (original(...args) as unknown);
    }),
    replaceMethod(module, 'execSync', (original) => (command: unknown, options: unknown) => {
      if (typeof command !== 'string') return original(command, options) as unknown;
      const all: SyncOptions = typeof options === 'object' ? { ...options } : {};
      return sync.exec(command, [], { ...all, shell: typeof all.shell === 'string' ? all.shell : true }, command);
    }),
  ]);
}

/** `(file, [args], [options])`; undefined where the platform is sure to refuse them. */
function parsed(args: readonly unknown[]): [file: string, list: string[], options: SyncOptions] | undefined {
  const [file, second, third] = args;
  const isList = Array.isArray(second);
  const options = isList || second === undefined || second === null ? third : second;
  if (typeof file !== 'string' || Array.isArray(options)) return undefined;
  if (options !== undefined && (typeof options !== 'object' || options === null)) return undefined;
  return [file, isList ? [...(second as string[])] : [], (options ?? {}) as SyncOptions];
}
