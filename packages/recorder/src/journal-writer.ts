/**
 * Files of exchanges that are not decided yet, beside the segment: in the same form, so that what a crash leaves is read
 * like any segment, but as a series of its own whose files go as soon as nothing in them is needed.
 */
import { constants } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { encodeSegmentHeader, FrameBatch } from '@orangebox/codec';
import { type ProcessInfo, type SegmentRecord, segmentFileName, segmentHost } from '@orangebox/schema';
import { hasDiskRoom } from './disk-room.ts';
import { ownPidNamespace } from './recovery/liveness.ts';
import type { RecordLocation } from './record-location.ts';
import type { RecordWriter } from './record-sink.ts';
import { messageOf, type Reporter } from './report.ts';
import { SegmentSync } from './segment-sync.ts';
import { prepareSegmentDirectory, type SegmentFs } from './segment-directory.ts';
import { nowMs } from './timers.ts';

/** What it needs to know. */
export interface JournalWriterOptions {
  dir: string;
  process: ProcessInfo;
  fsync: 'off' | 'call';
  reporter: Reporter;
  fs: SegmentFs;
  /** False while bodies must not be written, as the directory is nearly full. */
  bodiesAllowed: () => boolean;
}

/** After a failure the disk is left alone for this long. */
const RETRY_AFTER_MS = 1000;
const FREE_SPACE_CHECK_MS = 10_000;
/** File numbers in a row that others have taken. */
const MAX_TAKEN_NUMBERS = 8;

/** Writes them. Never throws. */
export class JournalWriter implements RecordWriter {
  readonly #options: JournalWriterOptions;
  readonly #frames: FrameBatch = new FrameBatch(crc32);
  readonly #sync: SegmentSync | undefined;
  /** One more than that of the segment, and again with each file that repeats what an earlier one holds. */
  #startUnixMs: number;
  #n = 0;
  #fd: number | undefined;
  /** Files that are there; the last is written to. */
  #paths: string[] = [];
  #offset = 0;
  #closedBytes = 0;
  #preparedDate = '';
  #directory = '';
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #hasRoom = true;
  #roomCheckedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: JournalWriterOptions) {
    this.#options = options;
    this.#startUnixMs = nowMs() + 1;
    if (options.fsync === 'call') this.#sync = new SegmentSync(options.fs, (error) => this.#fail(error));
  }

  get bodiesAllowed(): boolean {
    const now = nowMs();
    if (this.#directory !== '' && Math.abs(now - this.#roomCheckedAtMs) > FREE_SPACE_CHECK_MS) {
      this.#roomCheckedAtMs = now;
      this.#hasRoom = hasDiskRoom(this.#directory, this.#options.fs);
    }
    return this.#hasRoom && this.#options.bodiesAllowed();
  }

  /** Bytes of its files. */
  get sizeBytes(): number {
    return this.#closedBytes + this.#offset;
  }

  append(rows: readonly (readonly SegmentRecord[])[]): RecordLocation[] | undefined {
    if (rows.length === 0) return [];
    try {
      if (!this.#open()) return undefined;
      return this.#write(rows);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  syncSoon(): void {
    this.#sync?.soon();
  }

  /** Removes all files: nothing in them is needed any more. */
  clear(): void {
    this.#close();
    this.#remove(this.#paths.splice(0));
    this.#closedBytes = 0;
  }

  /** Writes rows to a new file and removes the ones before it. Undefined: they stay, and nothing has changed. */
  replace(rows: readonly (readonly SegmentRecord[])[]): RecordLocation[] | undefined {
    const before = this.#paths.splice(0);
    const closedBytes = this.#closedBytes + this.#offset;
    this.#close();
    this.#closedBytes = 0;
    // Of a series of its own: until the earlier files are gone, the same records must not count twice as one exchange's.
    this.#startUnixMs++;
    const places = this.append(rows);
    if (places && this.#isSynced()) {
      this.#remove(before);
      return places;
    }
    this.#remove(this.#paths.splice(0));
    this.#paths = before;
    this.#closedBytes = closedBytes;
    return undefined;
  }

  /** What was written is on the device, where the configuration asks for it. */
  #isSynced(): boolean {
    try {
      this.#sync?.now();
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  #open(): boolean {
    if (this.#fd !== undefined) return true;
    const { process } = this.#options;
    const now = nowMs();
    if (Math.abs(now - this.#failedAtMs) < RETRY_AFTER_MS) return false;
    this.#prepare(new Date(now).toISOString().slice(0, 10));
    this.#fd = this.#create();
    this.#offset = 0;
    const header = encodeSegmentHeader();
    const pidNamespace = ownPidNamespace();
    const size = this.#frames.add({
      type: 'segmentStart',
      process,
      startUnixNano: `${BigInt(now) * 1_000_000n}`,
      n: this.#n - 1,
      ...(pidNamespace === undefined ? {} : { pidNamespace }),
    });
    this.#put(header.length + size, [header, ...this.#frames.take()]);
    this.#failedAtMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Files come and go with every call: the directory is only made and checked again where it is another, or gone. */
  #prepare(date: string): void {
    if (this.#preparedDate === date && this.#options.fs.lstatSync(this.#directory, { throwIfNoEntry: false })) return;
    this.#directory = prepareSegmentDirectory(this.#options.dir, date, this.#options.fs);
    this.#preparedDate = date;
  }

  /** Makes the next file. A recovery of another host that took us for ended may have used its number. */
  #create(): number {
    const { O_CREAT, O_EXCL, O_WRONLY, O_APPEND } = constants;
    const flags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | (constants.O_NOFOLLOW ?? 0);
    const { pid, threadId } = this.#options.process;
    for (let tries = 1; ; tries++) {
      const id = { host: segmentHost(hostname()), pid, threadId, startUnixMs: this.#startUnixMs, n: this.#n++ };
      const path = join(this.#directory, segmentFileName(id));
      try {
        const fd = this.#options.fs.openSync(path, flags, 0o600);
        this.#paths.push(path);
        this.#sync?.opened(fd, path, this.#options.dir);
        return fd;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries === MAX_TAKEN_NUMBERS) throw error;
      }
    }
  }

  #write(rows: readonly (readonly SegmentRecord[])[]): RecordLocation[] {
    const path = this.#paths.at(-1) ?? '';
    const n = this.#n - 1;
    let offset = this.#offset;
    const places = rows.map((row): RecordLocation => {
      const sizeBytes = row.reduce((sum, record) => sum + this.#frames.add(record), 0);
      const place = { path, offset, sizeBytes, n };
      offset += sizeBytes;
      return place;
    });
    this.#put(offset - this.#offset, this.#frames.take());
    return places;
  }

  #put(sizeBytes: number, pieces: Uint8Array[]): void {
    if (this.#fd === undefined) return;
    const written = this.#options.fs.writevSync(this.#fd, pieces);
    this.#offset += written;
    if (written !== sizeBytes) throw new Error(`no space left (${written} of ${sizeBytes} bytes were written)`);
  }

  #fail(error: unknown): void {
    this.#frames.take();
    this.#close();
    this.#preparedDate = '';
    this.#failedAtMs = nowMs();
    const { dir, reporter } = this.#options;
    reporter.warn('no_storage', `cannot record in ${dir}: ${messageOf(error)}. The program goes on as before`);
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    this.#closedBytes += this.#offset;
    this.#offset = 0;
    if (fd === undefined) return;
    try {
      if (this.#sync) this.#sync.close(fd);
      else this.#options.fs.closeSync(fd);
    } catch {
      // The descriptor is gone either way.
    }
  }

  #remove(paths: readonly string[]): void {
    for (const path of paths) {
      try {
        this.#options.fs.unlinkSync(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
        this.#options.reporter.warn(
          'journal_file',
          `what is not kept can't be removed from ${dirname(path)}: ${messageOf(error)}`,
        );
      }
    }
  }
}
