/**
 * Paths in the directory that a replay works in a copy of lead to the copy: an answer on record names files by the paths that
 * they had when it was recorded, and a program writes where it is told.
 */
import { syncBuiltinESMExports } from 'node:module';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Undo } from '../ports.ts';
import { type AnyFunction, replaceMethod, undoAll } from '../replace.ts';

/** What leads where. */
export interface PathRedirection {
  /** Directories that the copy is of, absolute. */
  from: readonly string[];
  /** The copy. */
  to: string;
  /** Directories within that are not in the copy and are reached as ever. */
  except: readonly string[];
}

/** Functions with one path, by the name of what does not wait; all have others that wait. */
const ONE_PATH = [
  'access',
  'appendFile',
  'chmod',
  'chown',
  'exists',
  'lchmod',
  'lchown',
  'lstat',
  'lutimes',
  'mkdir',
  'mkdtemp',
  'mkdtempDisposable',
  'open',
  'openAsBlob',
  'opendir',
  'readFile',
  'readdir',
  'readlink',
  'realpath',
  'rm',
  'rmdir',
  'stat',
  'statfs',
  'truncate',
  'unlink',
  'utimes',
  'writeFile',
] as const;
const TWO_PATHS = ['copyFile', 'cp', 'link', 'rename', 'symlink'] as const;
const NEVER_WAIT = ['createReadStream', 'createWriteStream', 'unwatchFile', 'watch', 'watchFile'] as const;

/** Puts the hooks in place, for ES modules too. */
export function redirectPaths(redirection: PathRedirection): Undo {
  const map = (value: unknown): unknown => redirected(value, redirection);
  const hook = (holder: object, name: string, paths: 1 | 2): Undo =>
    replaceMethod(holder, name, (original) => {
      const call: AnyFunction = function call(this: unknown, ...args) {
        for (let i = 0; i < paths && i < args.length; i++) args[i] = map(args[i]);
        return Reflect.apply(original, this, args) as unknown;
      };
      return call;
    });
  const fs = process.getBuiltinModule('node:fs');
  const promises = process.getBuiltinModule('node:fs/promises');
  const both = (name: string, paths: 1 | 2): Undo[] => [
    hook(fs, name, paths),
    hook(fs, `${name}Sync`, paths),
    hook(promises, name, paths),
  ];
  const undo = undoAll([
    ...ONE_PATH.flatMap((name) => both(name, 1)),
    ...TWO_PATHS.flatMap((name) => both(name, 2)),
    ...NEVER_WAIT.map((name) => hook(fs, name, 1)),
    hook(promises, 'watch', 1),
    hook(fs.realpath, 'native', 1),
    hook(fs.realpathSync, 'native', 1),
    hook(process, 'chdir', 1),
  ]);
  syncBuiltinESMExports();
  return () => {
    undo();
    syncBuiltinESMExports();
  };
}

/** A path in the copy for one in the original; anything else as it is. */
function redirected(value: unknown, redirection: PathRedirection): unknown {
  if (typeof value === 'string') return inCopy(value, redirection) ?? value;
  if (value instanceof Uint8Array) {
    const path = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
    const copy = inCopy(path, redirection);
    return copy === undefined ? value : Buffer.from(copy);
  }
  if (!(value instanceof URL) || value.protocol !== 'file:') return value;
  try {
    const copy = inCopy(fileURLToPath(value), redirection);
    return copy === undefined ? value : pathToFileURL(copy);
  } catch {
    // The platform says what is wrong with it.
    return value;
  }
}

/** Relative paths are the copy's already: the program runs in it. */
function inCopy(path: string, { from, to, except }: PathRedirection): string | undefined {
  const directory = from.find((one) => path.startsWith(one));
  if (directory === undefined && !path.includes('..')) return undefined;
  const whole = resolve(path);
  const original = from.find((one) => isWithin(whole, one));
  if (original === undefined || isWithin(whole, to) || except.some((one) => isWithin(whole, one))) return undefined;
  const copy = join(to, relative(original, whole));
  return path.endsWith(sep) && !copy.endsWith(sep) ? `${copy}${sep}` : copy;
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}${sep}`);
}
