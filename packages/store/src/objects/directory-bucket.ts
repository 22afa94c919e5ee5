/** A directory as a bucket: private files, written whole or not at all, no link followed out of it. */
import {
  type FileHandle,
  access,
  constants,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fsCode, removeEmptyUpwards, syncDirectory } from '../safe-fs.ts';
import type { BucketListOptions, BucketObject, BucketWriteOptions, ObjectBucket } from './bucket.ts';
import { directoryError, isAbsent, leadsOut } from './directory-errors.ts';
import { staysInside } from './inside.ts';
import { checkObjectName, checkObjectPrefix, isObjectName, objectTooLarge } from './object-name.ts';
import { createSweeper, temporaryName } from './temporary-files.ts';

/** A bucket in a directory, which is made (0700) at the first write. */
export function createDirectoryBucket(path: string): ObjectBucket {
  return new DirectoryBucket(path);
}

class DirectoryBucket implements ObjectBucket {
  readonly kind = 'directory';
  readonly location: string;
  readonly #sweep: () => Promise<void>;
  /** Files are written beside their places: another file system stands between. */
  #writesBeside = false;

  constructor(path: string) {
    this.location = path;
    this.#sweep = createSweeper(path);
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    return this.#open(name, async (file, sizeBytes) => {
      if (sizeBytes > maxBytes) throw objectTooLarge(this.#path(name), sizeBytes, maxBytes);
      return file.readFile();
    });
  }

  async readStart(name: string, sizeBytes: number): Promise<Uint8Array | undefined> {
    return this.#open(name, async (file, fileBytes) => {
      const bytes = Buffer.alloc(Math.min(sizeBytes, fileBytes));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      return bytes.subarray(0, bytesRead);
    });
  }

  async #open<T>(name: string, read: (file: FileHandle, sizeBytes: number) => Promise<T>): Promise<T | undefined> {
    const path = this.#path(name);
    let file: FileHandle | undefined;
    try {
      if (!(await this.#isInside(name))) return undefined;
      // No link in the last place: a planted one would read any file of the user.
      file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const facts = await file.stat();
      return facts.isFile() ? await read(file, facts.size) : undefined;
    } catch (error) {
      if (isAbsent(error) || fsCode(error) === 'ELOOP') return undefined;
      throw directoryError(error, path, 'read');
    } finally {
      await file?.close();
    }
  }

  async stat(name: string): Promise<BucketObject | undefined> {
    this.#path(name);
    return (await this.#isInside(name)) ? this.#facts(name) : undefined;
  }

  async #facts(name: string): Promise<BucketObject | undefined> {
    const path = this.#path(name);
    try {
      const facts = await lstat(path);
      return facts.isFile() ? { name, sizeBytes: facts.size, modifiedUnixMs: facts.mtimeMs } : undefined;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw directoryError(error, path, 'read');
    }
  }

  async write(name: string, bytes: Uint8Array, options: BucketWriteOptions = {}): Promise<'written' | 'exists'> {
    const path = this.#path(name);
    if (options.onlyIfAbsent === true && (await this.stat(name))) return 'exists';
    await this.#sweep();
    // A purge may remove a directory that has just become empty: then it is made again.
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (!(await this.#isInside(name))) throw leadsOut(dirname(path), this.location);
        const folder = this.#writesBeside ? dirname(path) : this.location;
        return await writeWhole(path, join(folder, temporaryName()), bytes, options);
      } catch (error) {
        if (fsCode(error) === 'EXDEV' && !this.#writesBeside) {
          this.#writesBeside = true;
          continue;
        }
        if (fsCode(error) === 'ENOENT' && attempt < 4) continue;
        throw directoryError(error, path, 'write');
      }
    }
  }

  async *list(prefix: string, options: BucketListOptions = {}): AsyncGenerator<BucketObject, void, undefined> {
    checkObjectPrefix(prefix);
    if (!(await this.#isInside(prefix))) return;
    for await (const name of this.#walk(prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix, options)) {
      if (options.startAfter !== undefined && name <= options.startAfter) continue;
      const facts = await this.#facts(name);
      if (facts) yield facts;
    }
  }

  /** Names below a folder in byte order: a folder stands where its name with a slash would. */
  async *#walk(folder: string, prefix: string, options: BucketListOptions): AsyncGenerator<string, void, undefined> {
    const { startAfter, signal } = options;
    for (const name of await this.#children(folder)) {
      signal?.throwIfAborted();
      if (!name.startsWith(prefix.slice(0, name.length))) continue;
      if (!name.endsWith('/')) {
        if (name.startsWith(prefix)) yield name;
        continue;
      }
      if (startAfter !== undefined && name <= startAfter && !startAfter.startsWith(name)) continue;
      yield* this.#walk(name, prefix, options);
    }
  }

  /** What stands in a folder, folders with a slash. Links and files being written are passed over. */
  async #children(folder: string): Promise<string[]> {
    try {
      const entries = await readdir(join(this.location, folder), { withFileTypes: true });
      const names = entries.flatMap((entry) => {
        if (!isObjectName(entry.name)) return [];
        if (entry.isDirectory()) return [`${folder}${entry.name}/`];
        return entry.isFile() ? [folder + entry.name] : [];
      });
      return names.sort();
    } catch (error) {
      if (isAbsent(error)) return [];
      throw directoryError(error, join(this.location, folder), 'read');
    }
  }

  async prefixes(prefix: string): Promise<string[]> {
    checkObjectPrefix(prefix);
    if (!(await this.#isInside(prefix))) return [];
    return (await this.#children(prefix)).filter((name) => name.endsWith('/'));
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = this.#path(name);
      try {
        if (!(await this.#isInside(name))) continue;
        await rm(path, { force: true });
      } catch (error) {
        if (!isAbsent(error)) throw directoryError(error, path, 'write');
      }
      await removeEmptyUpwards(dirname(path), this.location);
    }
  }

  async check(): Promise<void> {
    try {
      await mkdir(this.location, { recursive: true, mode: 0o700 });
      await access(this.location, constants.R_OK | constants.W_OK | constants.X_OK);
      if (!(await stat(this.location)).isDirectory())
        throw Object.assign(new Error('no directory'), { code: 'ENOTDIR' });
    } catch (error) {
      throw directoryError(error, this.location, 'write');
    }
  }

  async close(): Promise<void> {}

  /** Whether the folder of a name or prefix is in this directory, and not where a link leads. */
  async #isInside(name: string): Promise<boolean> {
    const folder = name.slice(0, name.lastIndexOf('/') + 1);
    try {
      return await staysInside(this.location, folder);
    } catch (error) {
      throw directoryError(error, join(this.location, folder), 'read');
    }
  }

  #path(name: string): string {
    return join(this.location, checkObjectName(name));
  }
}

async function writeWhole(
  path: string,
  temporary: string,
  bytes: Uint8Array,
  options: BucketWriteOptions,
): Promise<'written' | 'exists'> {
  options.signal?.throwIfAborted();
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    // `wx`: a planted link of that name is an error, not a target.
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    if (options.onlyIfAbsent === true) {
      if (!(await takeName(temporary, path))) return 'exists';
    } else {
      await rename(temporary, path);
    }
  } finally {
    await rm(temporary, { force: true });
  }
  await syncDirectory(dirname(path));
  return 'written';
}

/** Gives a written file its name unless the name is taken: a link fails then, which a rename does not. */
async function takeName(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    const code = fsCode(error);
    if (code === 'EEXIST') return false;
    // File systems without links (vfat, some network ones): whoever comes last writes the same bytes again.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    await rename(temporary, path);
    return true;
  }
}
