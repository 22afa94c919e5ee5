/**
 * Appends records to the segment files of this thread. A disk that fails never fails the program: what could not be
 * written is told to the caller, said once, and tried anew after a while in a new file.
 */
import { constants } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { encodeSegmentHeader, FrameBatch } from '@orangebox/codec';
import {
  type ProcessInfo,
  type SegmentFileId,
  type SegmentRecord,
  segmentFileName,
  segmentHost,
} from '@orangebox/schema';
import { hasDiskRoom } from './disk-room.ts';
import type { RecordLocation } from './record-location.ts';
import { ownPidNamespace } from './recovery/liveness.ts';
import { messageOf, type Reporter } from './report.ts';
import { DirectoryBounds } from './retention/directory-bounds.ts';
import { rotateBytesOf } from './retention/thresholds.ts';
import { prepareSegmentDirectory, realFs, type SegmentFs } from './segment-directory.ts';
import { SegmentSync } from './segment-sync.ts';
import { isWithin, nowMs } from './timers.ts';

/** What a writer needs to know. */
export interface SegmentWriterOptions {
  dir: string;
  process: ProcessInfo;
  dirBytes: number;
  /** Recordings whose last record is older are removed; none by default. */
  maxAgeMs?: number | undefined;
  fsync: 'off' | 'call';
  reporter: Reporter;
  fs?: SegmentFs;
  nowMs?: () => number;
  /** Own files from this number on are still read from; the sweep leaves them. */
  keepFromN?: () => number | undefined;
}

/** Less than this is no file. */
const MIN_FILE_BYTES = 4096;
/** What a quiet program recorded grows old too. */
const ROTATE_MS = 24 * 3600_000;
/** After a failure the disk is left alone for this long. */
const RETRY_AFTER_MS = 1000;
const FREE_SPACE_CHECK_MS = 10_000;
const SEEN_CHECK_MS = 1000;
/** File numbers in a row that others have taken. */
const MAX_TAKEN_NUMBERS = 8;

/** Writes one series of segment files, lazily: no file before the first record. */
export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #fs: SegmentFs;
  readonly #now: () => number;
  readonly #series: Omit<SegmentFileId, 'n'>;
  readonly #rotateBytes: number;
  readonly #frames: FrameBatch = new FrameBatch(crc32);
  readonly #bounds: DirectoryBounds;
  readonly #sync: SegmentSync | undefined;
  #n = 0;
  #fd: number | undefined;
  #path = '';
  #inode = 0;
  #offset = 0;
  #writtenBytes = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #failing = false;
  #bodiesAllowed = true;
  #spaceCheckedAtMs = Number.NEGATIVE_INFINITY;
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #openedAtMs = 0;
  #lostRecords = 0;
  /** Bounds took something while no file was open: the next one says so. */
  #isDropUnsaid = false;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
    this.#fs = options.fs ?? realFs;
    this.#now = options.nowMs ?? nowMs;
    this.#rotateBytes = rotateBytesOf(options.dirBytes);
    this.#series = {
      host: segmentHost(hostname()),
      pid: options.process.pid,
      threadId: options.process.threadId,
      startUnixMs: this.#now(),
    };
    if (options.fsync === 'call') this.#sync = new SegmentSync(this.#fs, (error) => this.#fail(error));
    this.#bounds = new DirectoryBounds({
      dir: options.dir,
      dirBytes: options.dirBytes,
      maxAgeMs: options.maxAgeMs,
      rotateBytes: this.#rotateBytes,
      own: this.#series,
      reporter: options.reporter,
      fs: this.#fs,
      nowMs: this.#now,
      keepFromN: () => Math.min(options.keepFromN?.() ?? this.#n, this.#n),
      onDropped: (records) => {
        if (this.#fd === undefined) this.#isDropUnsaid = true;
        else this.append([records]);
      },
    });
  }

  /** What the names of its files begin with. */
  get seriesName(): string {
    const { host, pid, threadId, startUnixMs } = this.#series;
    return `${host}-${pid}-${threadId}-${startUnixMs}`;
  }

  /** Path of the file that is written to; empty before the first record. */
  get path(): string {
    return this.#path;
  }

  /** Bytes of that file. */
  get sizeBytes(): number {
    return this.#fd === undefined ? 0 : this.#offset;
  }

  /** Bytes written so far, to all files. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** False while the disk or the directory is nearly full: then bodies are not written. */
  get bodiesAllowed(): boolean {
    const now = this.#now();
    if (this.#fd !== undefined && !isWithin(FREE_SPACE_CHECK_MS, this.#spaceCheckedAtMs, now))
      this.#checkSpace(this.#path);
    return this.#bodiesAllowed && this.#bounds.allowsBodies;
  }

  /**
   * Appends rows of records with one write. Returns the place of each row, or undefined when they are not on the disk.
   * Never throws.
   */
  append(rows: readonly (readonly SegmentRecord[])[]): RecordLocation[] | undefined {
    if (rows.length === 0) return [];
    try {
      if (this.#open()) {
        const sizes = rows.map((row) => this.#encode(row));
        if (this.#bounds.hasRoom(sizes.reduce((sum, size) => sum + size, 0))) return this.#write(sizes);
        this.#frames.take();
      }
    } catch (error) {
      this.#frames.take();
      this.#fail(error);
    }
    for (const row of rows) this.#lostRecords += row.length;
    return undefined;
  }

  syncSoon(): void {
    this.#sync?.soon();
  }

  /** Forces what was written to the device, where the configuration asks for it after each call. */
  syncCall(): void {
    try {
      this.#sync?.now();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the file in order, as at the process' exit. A record that still comes starts another one. */
  close(): void {
    if (this.#fd === undefined && this.#isDropUnsaid) this.#openToSay();
    if (this.#fd !== undefined) {
      this.#finishFile(false);
      if (!this.#failing) this.#n++;
    }
    this.#bounds.closing();
  }

  /** A file begins with what bounds took. */
  #openToSay(): void {
    try {
      this.#open();
    } catch (error) {
      this.#fail(error);
    }
  }

  #open(): boolean {
    const now = this.#now();
    if (this.#fd !== undefined) {
      if (this.#isGone(now)) this.#closeFile();
      else if (this.#offset < this.#rotateBytes && isWithin(ROTATE_MS, this.#openedAtMs, now)) return true;
      else this.#finishFile(true);
      this.#n++;
    }
    if (this.#failing && isWithin(RETRY_AFTER_MS, this.#failedAtMs, now)) return false;
    this.#bounds.opening();
    if (!this.#bounds.hasRoom(MIN_FILE_BYTES)) return false;
    const { dir } = this.#options;
    const directory = prepareSegmentDirectory(dir, new Date(now).toISOString().slice(0, 10), this.#fs);
    this.#fd = this.#create(directory);
    this.#inode = this.#fs.lstatSync(this.#path).ino;
    this.#sync?.opened(this.#fd, this.#path, dir);
    this.#offset = 0;
    this.#seenAtMs = now;
    this.#openedAtMs = now;
    this.#checkSpace(directory);
    const pidNamespace = ownPidNamespace();
    const start: SegmentRecord = {
      type: 'segmentStart',
      process: this.#options.process,
      startUnixNano: `${BigInt(now) * 1_000_000n}`,
      n: this.#n,
      ...(pidNamespace === undefined ? {} : { pidNamespace }),
    };
    const header = encodeSegmentHeader();
    const first: SegmentRecord[] = [start, ...this.#bounds.records()];
    if (this.#lostRecords > 0) first.push({ type: 'dropped', reason: 'no_storage', count: this.#lostRecords });
    this.#write([header.length + this.#encode(first)], header);
    this.#failing = false;
    this.#isDropUnsaid = false;
    this.#bounds.opened();
    return true;
  }

  /** Makes the next file. A recovery of another host that took us for ended may have used its number. */
  #create(directory: string): number {
    const { O_CREAT, O_EXCL, O_WRONLY, O_APPEND } = constants;
    const flags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | (constants.O_NOFOLLOW ?? 0);
    for (let tries = 1; ; tries++) {
      this.#path = join(directory, segmentFileName({ ...this.#series, n: this.#n }));
      try {
        return this.#fs.openSync(this.#path, flags, 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries === MAX_TAKEN_NUMBERS) throw error;
        this.#n++;
      }
    }
  }

  /** Puts the frames of records into the batch; returns their bytes. */
  #encode(records: readonly SegmentRecord[]): number {
    let sizeBytes = 0;
    for (const record of records) sizeBytes += this.#frames.add(record);
    return sizeBytes;
  }

  /** Writes the batch, whose rows have these sizes. */
  #write(sizes: readonly number[], ...before: Uint8Array[]): RecordLocation[] {
    const fd = this.#fd;
    if (fd === undefined) throw new Error('no segment is open');
    const n = this.#n;
    const path = this.#path;
    let total = 0;
    const locations = sizes.map((sizeBytes): RecordLocation => {
      const location = { path, offset: this.#offset + total, sizeBytes, n };
      total += sizeBytes;
      return location;
    });
    const written = this.#fs.writevSync(fd, [...before, ...this.#frames.take()]);
    if (written !== total) {
      // A torn frame: nothing may follow it, so the next record starts a new file.
      throw Object.assign(new Error(`no space left (${written} of ${total} bytes were written)`), { code: 'ENOSPC' });
    }
    this.#offset += total;
    this.#writtenBytes += total;
    this.#bounds.wrote(total);
    return locations;
  }

  /**
   * Somebody removed the file, as `rm -r .orangebox` does, put another in its place or cut it short: what is written to it is
   * gone, or cannot be read. Looked at once a second.
   */
  #isGone(nowMs: number): boolean {
    if (isWithin(SEEN_CHECK_MS, this.#seenAtMs, nowMs)) return false;
    this.#seenAtMs = nowMs;
    try {
      const { ino, size } = this.#fs.lstatSync(this.#path);
      return ino !== this.#inode || size < this.#offset;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return code === 'ENOENT' || code === 'ENOTDIR';
    }
  }

  #checkSpace(path: string): void {
    this.#spaceCheckedAtMs = this.#now();
    this.#bodiesAllowed = hasDiskRoom(path, this.#fs);
    if (!this.#bodiesAllowed) {
      this.#options.reporter.warn(
        'disk_low',
        `less than 5 % of the disk of ${this.#options.dir} is free; bodies are not recorded`,
      );
    }
  }

  #finishFile(rotated: boolean): void {
    const fd = this.#fd;
    if (fd === undefined) return;
    try {
      const end: SegmentRecord = { type: 'segmentEnd', endUnixNano: `${BigInt(this.#now()) * 1_000_000n}`, rotated };
      this.#write([this.#encode([end])]);
      this.#sync?.now();
    } catch (error) {
      this.#options.reporter.count('segment_end');
      if (!this.#failing) this.#fail(error);
      return;
    }
    this.#closeFile();
  }

  #closeFile(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd === undefined) return;
    try {
      if (this.#sync) this.#sync.close(fd);
      else this.#fs.closeSync(fd);
    } catch {
      // The descriptor is gone either way.
    }
  }

  #fail(error: unknown): void {
    if (this.#fd !== undefined) this.#n++;
    else if ((error as NodeJS.ErrnoException | undefined)?.code === 'EEXIST') this.#n++;
    this.#closeFile();
    this.#failing = true;
    this.#failedAtMs = this.#now();
    this.#options.reporter.warn(
      'no_storage',
      `cannot record in ${this.#options.dir}: ${messageOf(error)}. The program goes on as before`,
    );
  }
}
