/** The file in which a recovery says what became of a series: the next of the series itself. Those before it stay as they are. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { encodeSegmentHeader, FrameBatch } from '@orangebox/codec';
import { type ProcessInfo, type SegmentRecord, segmentFileName } from '@orangebox/schema';
import type { RecordLocation } from '../record-location.ts';
import { prepareSegmentDirectory, realFs } from '../segment-directory.ts';
import { nowMs } from '../timers.ts';
import type { Series } from './series-files.ts';

const { O_CREAT, O_EXCL, O_WRONLY, O_APPEND, O_NOFOLLOW } = fs.constants;

/** What a recovered file says of the series, and how it is written. */
export interface RecoveredFileFacts {
  process: ProcessInfo;
  pidNamespace: string | undefined;
  /** It is forced to the device; a program that runs is not to wait for that. */
  isDurable: boolean;
}

/** Made with its first record. */
export class RecoveredFile {
  readonly #dir: string;
  readonly #series: Series;
  readonly #process: ProcessInfo;
  readonly #pidNamespace: string | undefined;
  readonly #isDurable: boolean;
  readonly #frames = new FrameBatch(crc32);
  #file: { fd: number; path: string; n: number } | undefined;
  #offset = 0;
  #isUnsynced = false;

  constructor(dir: string, series: Series, about: RecoveredFileFacts) {
    this.#dir = dir;
    this.#series = series;
    this.#process = about.process;
    this.#pidNamespace = about.pidNamespace;
    this.#isDurable = about.isDurable;
  }

  /** The file, once there is one. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /**
   * Appends records with one write.
   * @throws the file system's error; `EEXIST` where another recovery works on the series too
   */
  append(records: readonly SegmentRecord[]): RecordLocation[] {
    const file = this.#file ?? this.#create();
    const sizes = records.map((record) => this.#frames.add(record));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const written = fs.writevSync(file.fd, this.#frames.take());
    if (written !== total) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    this.#isUnsynced = true;
    return sizes.map((sizeBytes) => {
      const location = { path: file.path, offset: this.#offset, sizeBytes, n: file.n };
      this.#offset += sizeBytes;
      return location;
    });
  }

  /** Forces what was written to the device. */
  sync(): void {
    if (!this.#file || !this.#isUnsynced || !this.#isDurable) return;
    fs.fsyncSync(this.#file.fd);
    this.#isUnsynced = false;
  }

  /** Ends the file in order. */
  close(): void {
    const file = this.#file;
    if (!file) return;
    try {
      this.append([{ type: 'segmentEnd', endUnixNano: nowNano(), rotated: false }]);
      this.sync();
    } finally {
      fs.closeSync(file.fd);
      this.#file = undefined;
    }
  }

  #create(): { fd: number; path: string; n: number } {
    const n = (this.#series.files.at(-1)?.n ?? -1) + 1;
    const directory = prepareSegmentDirectory(this.#dir, new Date(nowMs()).toISOString().slice(0, 10), realFs);
    const path = join(directory, segmentFileName({ ...this.#series.id, n }));
    const fd = fs.openSync(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_NOFOLLOW, 0o600);
    this.#file = { fd, path, n };
    const header = encodeSegmentHeader();
    this.#frames.add({
      type: 'segmentStart',
      process: this.#process,
      startUnixNano: nowNano(),
      n,
      ...(this.#pidNamespace === undefined ? {} : { pidNamespace: this.#pidNamespace }),
    });
    const written = fs.writevSync(fd, [header, ...this.#frames.take()]);
    this.#offset = written;
    return this.#file;
  }
}

/** Now, in nanoseconds since the epoch, as records have it. */
export function nowNano(): string {
  return `${BigInt(nowMs()) * 1_000_000n}`;
}
