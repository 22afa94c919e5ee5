/** Files of a store: private modes, names that stay inside, writes that are whole or not there. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { formatSnapshotKey, OrangeboxError, parseSnapshotKey } from '@orangebox/schema';

/** Prefix of files that are being written; readers and listings pass over them. */
export const TEMPORARY_PREFIX = '.tmp-';

/** The code of a file system error, e.g. `ENOENT`. */
export function fsCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** A coded error for a failed file system call, with a hint by its cause. */
export function fsError(error: unknown, path: string, doing: 'read' | 'write'): OrangeboxError {
  if (error instanceof OrangeboxError) return error;
  const code = fsCode(error);
  const cause = { cause: error };
  if (code === 'ENOENT') {
    return new OrangeboxError('OBX_STORE_NOT_FOUND', `${path} does not exist`, {
      ...cause,
      hint: 'run a program with orangebox/register first, or name the directory with ORANGEBOX_DIR',
    });
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    const what = doing === 'read' ? 'UNREADABLE' : 'UNWRITABLE';
    return new OrangeboxError(`OBX_STORE_${what}`, `no permission to ${doing} ${path} (${code})`, {
      ...cause,
      hint: 'recordings are private to the user who made them: run as that user, or change the owner',
    });
  }
  if (code === 'ENOTDIR') {
    return new OrangeboxError('OBX_STORE_NOT_A_DIRECTORY', `${path} is not a directory`, {
      ...cause,
      hint: 'name the directory that holds segments/, or a single segment or snapshot file',
    });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new OrangeboxError('OBX_STORE_IO', `could not ${doing} ${path}: ${message}`, {
    ...cause,
    hint: code === 'ENOSPC' ? 'the disk is full' : 'check the disk and the path',
  });
}

/** Path of a key's directory below `base`. Refuses what is not a key, so that no recording names a path. */
export function keyDirectory(base: string, key: string): string {
  const parts = parseSnapshotKey(key);
  if (!parts) {
    throw new OrangeboxError('OBX_KEY_INVALID', `not a snapshot key: ${JSON.stringify(key.slice(0, 120))}`, {
      hint: 'keys look like v1/<date>/<trace id>/<span id>/<16 hex digits>',
    });
  }
  return join(base, formatSnapshotKey(parts));
}

/** Normal form of a key; undefined when the text is none. A doubled slash is the same key. */
export function normalKey(text: string): string | undefined {
  const parts = parseSnapshotKey(text);
  return parts && formatSnapshotKey(parts);
}

/** Makes a private directory (0700) and those above it that are missing. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Names in a directory, sorted; an absent directory has none. */
export async function listNames(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    if (fsCode(error) === 'ENOENT') return [];
    throw fsError(error, path, 'read');
  }
}

/** Size of a file; undefined when it is not there or no file. */
export async function fileSize(path: string): Promise<number | undefined> {
  try {
    const facts = await stat(path);
    return facts.isFile() ? facts.size : undefined;
  } catch (error) {
    if (fsCode(error) === 'ENOENT' || fsCode(error) === 'ENOTDIR') return undefined;
    throw fsError(error, path, 'read');
  }
}

/**
 * Writes a private file (0600) beside its place, syncs it, and renames it there, so that a reader or a crash sees the
 * whole file or the one before.
 */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const temporary = join(dirname(path), `${TEMPORARY_PREFIX}${randomBytes(6).toString('hex')}`);
  try {
    // `wx`: a planted link of that name is an error, not a target.
    const file = await open(temporary, 'wx', 0o600);
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw fsError(error, path, 'write');
  }
  await syncDirectory(dirname(path));
}

/** Makes a rename in the directory durable, where the platform can. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch {
    // Some file systems cannot sync a directory; the file itself is synced.
  }
}

/** Removes a directory and then those above it, up to `stop`, as long as they are empty. */
export async function removeEmptyUpwards(path: string, stop: string): Promise<void> {
  let current = path;
  while (current.length > stop.length && current.startsWith(stop)) {
    try {
      await rmdir(current);
    } catch {
      return;
    }
    current = dirname(current);
  }
}
