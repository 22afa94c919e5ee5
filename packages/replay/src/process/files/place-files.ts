/** Puts files into a directory, and nowhere else: no link on the way is followed, none is made that leads out. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join, posix, relative, resolve, sep } from 'node:path';
import type { FileState } from '@orangebox/schema';
import { isSoundContent, isSoundFile } from './sound-files.ts';

/** Where, and from what. */
export interface FilePlace {
  root: string;
  /** Absolute path that stood for the root when it was recorded. */
  recordedRoot: string;
  /** The content with this SHA-256, verified. */
  read: (sha256: string) => Uint8Array | undefined;
}

let made = 0;

/** Puts a file, link or directory there as it is on record; false where that cannot be, and then all is as it was. */
export function placeFile(place: FilePlace, file: FileState): boolean {
  if (!isSoundFile(file)) return false;
  const path = join(place.root, file.path);
  try {
    if (!makeParents(place.root, file.path)) return false;
    if (file.type === 'directory') {
      const there = kindOf(path);
      if (there !== 'directory') {
        if (there !== undefined) unlinkSync(path);
        mkdirSync(path);
      }
      // Its owner has to be able to take it away again.
      chmodSync(path, file.mode | 0o700);
      return true;
    }
    const beside = join(dirname(path), `.orangebox-${process.pid}-${made++}`);
    if (file.type === 'link') {
      const target = file.target === undefined ? undefined : targetWithin(place, file.path, file.target);
      if (target === undefined) return false;
      symlinkSync(target, beside);
    } else {
      const bytes = file.sha256 === undefined ? undefined : place.read(file.sha256);
      if (!bytes || !isSoundContent(file.path, bytes)) return false;
      writeFileSync(beside, bytes, { flag: 'wx', mode: 0o600 });
      chmodSync(beside, file.mode);
    }
    try {
      renameSync(beside, path);
    } catch (error) {
      rmSync(beside, { force: true });
      throw error;
    }
    return true;
  } catch {
    return false;
  }
}

/** Takes away what is there; false where something is still there afterwards. */
export function removeFile({ root }: FilePlace, file: FileState): boolean {
  if (!isSoundFile(file)) return false;
  const path = join(root, file.path);
  try {
    if (!hasRealParents(root, file.path)) return true;
    const there = kindOf(path);
    if (there === 'directory') rmdirSync(path);
    else if (there !== undefined) unlinkSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The target of a link as it is made; undefined where it would lead out of the root. */
export function targetWithin(
  { root, recordedRoot }: Pick<FilePlace, 'root' | 'recordedRoot'>,
  path: string,
  target: string,
): string | undefined {
  const at = dirname(join(root, path));
  // Behind a link, `..` is somewhere else than it seems; and what is installed is not of the copy.
  const plain = target.replace(/\/+$/, '');
  if (plain !== posix.normalize(plain) || plain.includes('\\') || /(?:^|\/)node_modules(?:\/|$)/i.test(plain))
    return undefined;
  const meant = isAbsolute(target) ? resolve(root, relative(recordedRoot, target)) : resolve(at, target);
  const inside = relative(root, meant);
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return undefined;
  return isAbsolute(target) ? meant : target;
}

function makeParents(root: string, path: string): boolean {
  let at = root;
  for (const name of path.split('/').slice(0, -1)) {
    at = join(at, name);
    const there = kindOf(at);
    if (there === undefined) mkdirSync(at);
    else if (there !== 'directory') return false;
  }
  return true;
}

/** No link, and no file, stands on the way. */
function hasRealParents(root: string, path: string): boolean {
  let at = root;
  for (const name of path.split(/[/\\]/).slice(0, -1)) {
    at = join(at, name);
    const there = kindOf(at);
    if (there !== undefined && there !== 'directory') return false;
  }
  return true;
}

function kindOf(path: string): 'directory' | 'other' | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return undefined;
  return stats.isDirectory() ? 'directory' : 'other';
}
