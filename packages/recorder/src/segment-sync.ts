/**
 * What `ORANGEBOX_FSYNC=call` adds: a cut of the power takes no request that has been out for some milliseconds, and no call that
 * has ended. A file is only there after a cut when the directory that names it is on the device too.
 */
import { constants } from 'node:fs';
import { dirname } from 'node:path';
import type { SegmentFs } from './segment-directory.ts';

/** The file that is written to. */
interface SyncedFile {
  fd: number;
  /** Directories whose entries are not known to be on the device, innermost first. */
  directories: string[];
}

/** Brings files of one series, one at a time, to the device. */
export class SegmentSync {
  readonly #fs: SegmentFs;
  readonly #onFault: (error: unknown) => void;
  readonly #durable: Set<string> = new Set();
  #file: SyncedFile | undefined;
  /** The file that is being synced beside the program. */
  #running: SyncedFile | undefined;
  #isWanted = false;
  #closesAfter = false;

  constructor(fs: SegmentFs, onFault: (error: unknown) => void) {
    this.#fs = fs;
    this.#onFault = onFault;
  }

  /** A new file is written to, below `root`. */
  opened(fd: number, path: string, root: string): void {
    const date = dirname(path);
    const directories = [date];
    // Those above name nothing new with each file.
    for (const above of [dirname(date), root, dirname(root)]) if (!this.#durable.has(above)) directories.push(above);
    this.#file = { fd, directories };
  }

  /** Beside the program, which goes on at once: what is in the file now is on the device some milliseconds later. */
  soon(): void {
    const file = this.#file;
    if (!file) return;
    if (this.#running) {
      this.#isWanted = true;
      return;
    }
    this.#running = file;
    this.#fs.fdatasync(file.fd, (error) => {
      if (error) this.#ran(error);
      else this.#syncDirectories(file);
    });
  }

  /** What is in the file is on the device when this returns. @throws where the device fails */
  now(): void {
    const file = this.#file;
    if (!file) return;
    this.#fs.fdatasyncSync(file.fd);
    for (const path of file.directories.splice(0)) {
      const fd = this.#openDirectory(path);
      if (fd === undefined) continue;
      try {
        this.#fs.fsyncSync(fd);
        this.#durable.add(path);
      } finally {
        this.#fs.closeSync(fd);
      }
    }
  }

  /** Closes a file; one that is being synced, afterwards. */
  close(fd: number): void {
    if (this.#file?.fd === fd) this.#file = undefined;
    if (this.#running?.fd === fd) this.#closesAfter = true;
    else this.#fs.closeSync(fd);
  }

  #syncDirectories(file: SyncedFile): void {
    const path = file.directories[0];
    if (path === undefined) {
      this.#ran();
      return;
    }
    const fd = this.#openDirectory(path);
    const done = (error: Error | null): void => {
      if (fd !== undefined) this.#fs.closeSync(fd);
      if (error) {
        this.#ran(error);
        return;
      }
      this.#durable.add(path);
      // They may have been synced at the end of a call meanwhile.
      if (file.directories[0] === path) file.directories.shift();
      this.#syncDirectories(file);
    };
    if (fd === undefined) done(null);
    else this.#fs.fsync(fd, done);
  }

  #ran(error?: Error): void {
    const fd = this.#running?.fd;
    this.#running = undefined;
    if (this.#closesAfter && fd !== undefined) this.#fs.closeSync(fd);
    else if (error) this.#onFault(error);
    this.#closesAfter = false;
    const isWanted = this.#isWanted;
    this.#isWanted = false;
    if (isWanted) this.soon();
  }

  /** Undefined where directories cannot be opened (Windows), or this one may not be read. */
  #openDirectory(path: string): number | undefined {
    try {
      return this.#fs.openSync(path, constants.O_RDONLY);
    } catch {
      return undefined;
    }
  }
}
