/** Which directory of recordings is meant: `--dir`, `ORANGEBOX_DIR`, or the nearest `.orangebox` upward. */
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_DIRECTORY, OBJECTS_DIRECTORY, OrangeboxError, SEGMENTS_DIRECTORY } from '@orangebox/schema';
import type { CommandContext } from './context.ts';
import { errnoOf } from './exit-codes.ts';
import { escapeLine } from './text/escape.ts';

/** A directory of recordings, found or not. */
export interface Located {
  /** Absolute path. */
  dir: string;
  basis: '--dir' | 'ORANGEBOX_DIR' | 'found' | 'default';
  exists: boolean;
}

/** Finds the directory. A named one that is not there is an error; without one, `exists` tells. */
export function locate(context: CommandContext): Located {
  if (context.dir !== undefined) return named(context, context.dir, '--dir');
  if (context.env.dir !== undefined) return named(context, context.env.dir, 'ORANGEBOX_DIR');
  for (let at = context.cwd; ; at = dirname(at)) {
    const candidate = join(at, DEFAULT_DIRECTORY);
    if (isDirectory(candidate)) return { dir: candidate, basis: 'found', exists: true };
    if (dirname(at) === at) break;
  }
  return { dir: join(context.cwd, DEFAULT_DIRECTORY), basis: 'default', exists: false };
}

function named(context: CommandContext, text: string, basis: '--dir' | 'ORANGEBOX_DIR'): Located {
  const dir = resolve(context.cwd, text);
  // ORANGEBOX_DIR may name a place that the program has yet to make; --dir is typed by somebody who expects it there.
  if (!isDirectory(dir)) {
    if (basis === 'ORANGEBOX_DIR') return { dir, basis, exists: false };
    throw new OrangeboxError('OBX_DIR_NOT_FOUND', `there is no directory ${escapeLine(dir)}`, {
      hint: '--dir names the directory that a recording program made, usually .orangebox',
    });
  }
  const inner = join(dir, DEFAULT_DIRECTORY);
  const isStore = [SEGMENTS_DIRECTORY, OBJECTS_DIRECTORY].some((name) => isDirectory(join(dir, name)));
  return { dir: !isStore && isDirectory(inner) ? inner : dir, basis, exists: true };
}

/** Whether a directory is there. Not being allowed to look is an error, not a no. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new OrangeboxError('OBX_DIR_UNREADABLE', `${escapeLine(path)} cannot be read (${code ?? 'unknown error'})`, {
      hint: 'check who owns it: ls -ld PATH',
      cause: error,
    });
  }
}

/** The error of a command that needs recordings where there are none. */
export function nothingRecorded(context: CommandContext, located: Located): OrangeboxError {
  return new OrangeboxError('OBX_DIR_NOT_FOUND', `no recordings in ${placeOf(context, located)}`, {
    hint: 'record a program with: npx orangebox run -- node app.js',
  });
}

/** Where recordings were looked for, in words. */
export function placeOf(context: CommandContext, located: Located): string {
  return located.basis === 'default'
    ? `${escapeLine(context.cwd)} or above it`
    : `${escapeLine(located.dir)} (${located.basis})`;
}
