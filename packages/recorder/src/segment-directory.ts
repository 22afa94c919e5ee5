/** Makes and checks the directories of recordings: private, owned by us, no detour through somebody's link. */
import { dirname, join, resolve } from 'node:path';
import { SEGMENTS_DIRECTORY } from '@orangebox/schema';

/** The part of `node:fs` that segments use; replaced in tests to play a failing disk. */
export type SegmentFs = Pick<
  typeof import('node:fs'),
  | 'closeSync'
  | 'fdatasync'
  | 'fdatasyncSync'
  | 'fsync'
  | 'fsyncSync'
  | 'lstatSync'
  | 'mkdirSync'
  | 'opendirSync'
  | 'openSync'
  | 'readSync'
  | 'readdirSync'
  | 'statSync'
  | 'statfsSync'
  | 'unlinkSync'
  | 'writeFileSync'
  | 'writevSync'
>;

/** The real file system. A namespace that is imported has all of it copied, before the first request leaves. */
export const realFs: SegmentFs = process.getBuiltinModule('node:fs');

/** Why a directory is not used. */
export class UnsafeDirectoryError extends Error {
  override readonly name = 'UnsafeDirectoryError';
}

/**
 * Makes `<root>/segments/<date>` and returns its path. The root may be a link of our own or root's; everything below
 * must be real directories of ours.
 * @throws UnsafeDirectoryError or the file system's own error
 */
export function prepareSegmentDirectory(root: string, date: string, fs: SegmentFs): string {
  makeRoot(root, fs);
  checkRoot(root, fs);
  try {
    fs.writeFileSync(join(root, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  let path = root;
  for (const name of [SEGMENTS_DIRECTORY, date]) {
    path = join(path, name);
    makeDirectory(path, fs);
    const stat = fs.lstatSync(path);
    if (!stat.isDirectory()) throw new UnsafeDirectoryError(`${path} is not a directory`);
    if (!isOwn(stat.uid)) throw new UnsafeDirectoryError(`${path} belongs to another user`);
  }
  return path;
}

/**
 * Makes a directory and those above it that are missing. One by one, as a recursive `mkdir` never returns where the file
 * system answers ENOENT although the directory above is there (`/proc`; Node.js up to 24).
 */
function makeRoot(root: string, fs: SegmentFs): void {
  const missing: string[] = [];
  for (let at = resolve(root); !isThere(at, fs) && dirname(at) !== at; at = dirname(at)) missing.push(at);
  for (const path of missing.reverse()) makeDirectory(path, fs);
}

function isThere(path: string, fs: SegmentFs): boolean {
  try {
    fs.statSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function makeDirectory(path: string, fs: SegmentFs): void {
  try {
    fs.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function checkRoot(root: string, fs: SegmentFs): void {
  const link = fs.lstatSync(root);
  if (link.isSymbolicLink() && !isTrusted(link.uid)) {
    throw new UnsafeDirectoryError(`${root} is a link of another user`);
  }
  const stat = fs.statSync(root);
  if (!stat.isDirectory()) throw new UnsafeDirectoryError(`${root} is not a directory`);
  if (!isTrusted(stat.uid)) throw new UnsafeDirectoryError(`${root} belongs to another user`);
}

/** Who the program runs as, or root: mounted volumes belong to root even where the program does not run as root. */
export function isTrusted(uid: number): boolean {
  return uid === 0 || isOwn(uid);
}

function isOwn(uid: number): boolean {
  const own = process.geteuid?.();
  return own === undefined || uid === own;
}
