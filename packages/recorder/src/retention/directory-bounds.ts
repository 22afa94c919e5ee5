/**
 * What a writer knows of the bounds of its directory: how full it is, whether more may be written, and what bounds took.
 * The sweep itself is loaded beside the program.
 */
import { join } from 'node:path';
import type { DroppedRecord, SegmentFileId } from '@orangebox/schema';
import type { Reporter } from '../report.ts';
import type { SegmentFs } from '../segment-directory.ts';
import { nextTurn } from '../timers.ts';
import type { Sweeper } from './sweep.ts';
import type { SweepResult } from './sweep-scope.ts';

/** What the bounds of a writer depend on. */
export interface BoundsOptions {
  dir: string;
  dirBytes: number;
  /** Undefined: no bound. */
  maxAgeMs: number | undefined;
  rotateBytes: number;
  own: Omit<SegmentFileId, 'n'>;
  reporter: Reporter;
  fs: SegmentFs;
  nowMs(): number;
  /** Own files from this number on are open or still read from. */
  keepFromN(): number;
  /** The counts have grown. */
  onDropped(records: DroppedRecord[]): void;
}

/** The directory was full: whoever comes looks before it writes. */
const FULL_MARK = '.full';
/** After a look that changed nothing the next one waits. */
const LOOK_AGAIN_MS = 1000;
/** Share of the room that one process uses before it looks again; others may be writing too. */
const LOOK_SHARE = 16;
const BOUND_NAMES = { dir_bytes: 'ORANGEBOX_DIR_BYTES', dir_age: 'ORANGEBOX_DIR_DAYS' } as const;
type BoundReason = keyof typeof BOUND_NAMES;

/** Keeps one writer within the bounds of its directory. */
export class DirectoryBounds {
  readonly #options: BoundsOptions;
  /** Up to here anything is written: what is beyond belongs to the file that a sweep rewrites, or it could never make room. */
  readonly #recordBytes: number;
  readonly #bodyBytes: number;
  readonly #triggerBytes: number;
  readonly #targetBytes: number;
  #sweeper: Sweeper | undefined;
  /** Bytes of the directory, less what this writer added since; undefined before the first look. */
  #listedBytes: number | undefined;
  #writtenBytes = 0;
  #listedAtWritten = 0;
  #isLooking = false;
  #wasOpened = false;
  #waitsForLook = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #wasUseless = false;
  readonly #taken: Record<BoundReason, { unsent: number; sent: number; unsentBytes: number; sentBytes: number }> = {
    dir_bytes: { unsent: 0, sent: 0, unsentBytes: 0, sentBytes: 0 },
    dir_age: { unsent: 0, sent: 0, unsentBytes: 0, sentBytes: 0 },
  };

  constructor(options: BoundsOptions) {
    this.#options = options;
    const { dirBytes, rotateBytes } = options;
    this.#recordBytes = dirBytes - rotateBytes;
    this.#bodyBytes = dirBytes - 2 * rotateBytes;
    this.#triggerBytes = dirBytes - Math.max(3 * rotateBytes, Math.floor(dirBytes / 16));
    this.#targetBytes = this.#triggerBytes - Math.max(rotateBytes, Math.floor(dirBytes / 16));
  }

  /** Bodies may be written. */
  get allowsBodies(): boolean {
    if (this.#usedBytes <= this.#bodyBytes && !this.#waitsForLook) return true;
    this.#full();
    return false;
  }

  /** So many bytes may be written. */
  hasRoom(sizeBytes: number): boolean {
    if (this.#usedBytes + sizeBytes <= this.#recordBytes && !this.#waitsForLook) return true;
    this.#full();
    return false;
  }

  /** Before the first file: whether somebody found the directory full. */
  opening(): void {
    if (this.#wasOpened) return;
    this.#wasOpened = true;
    try {
      this.#options.fs.lstatSync(this.#markPath);
      this.#waitsForLook = true;
      this.#look();
    } catch {
      // Not there.
    }
  }

  /** A file was opened. */
  opened(): void {
    this.#wasUseless = false;
    this.#look();
  }

  /** Bytes were written. */
  wrote(sizeBytes: number): void {
    this.#writtenBytes += sizeBytes;
    const listed = this.#listedBytes ?? 0;
    const room = Math.max(this.#options.rotateBytes, this.#bodyBytes - listed);
    const isGrown = this.#writtenBytes - this.#listedAtWritten >= room / LOOK_SHARE;
    if (isGrown || this.#usedBytes > this.#triggerBytes) this.#look();
  }

  /** Counts for the beginning of a file. */
  records(): DroppedRecord[] {
    const records: DroppedRecord[] = [];
    for (const reason of ['dir_bytes', 'dir_age'] as const) {
      const { unsent, sent, unsentBytes, sentBytes } = this.#taken[reason];
      const bound = BOUND_NAMES[reason];
      if (unsent > 0) {
        const message = `${unsentBytes} bytes of recordings that were not sent were removed for ${bound}`;
        records.push({ type: 'dropped', reason, count: unsent, message });
      }
      if (sent > 0) {
        const message = `${sentBytes} bytes of recordings that had been sent were removed for ${bound}`;
        records.push({ type: 'dropped', reason: `${reason}_sent`, count: sent, message });
      }
    }
    return records;
  }

  get #usedBytes(): number {
    return (this.#listedBytes ?? 0) + this.#writtenBytes - this.#listedAtWritten;
  }

  get #markPath(): string {
    return join(this.#options.dir, FULL_MARK);
  }

  #full(): void {
    this.#options.reporter.warn(
      'dir_full',
      `${this.#options.dir} is at ORANGEBOX_DIR_BYTES and room is not made fast enough; bodies are not recorded`,
    );
    this.#look();
  }

  /** In the next turn, unless one is under way or has just found nothing to do. */
  #look(): void {
    if (this.#isLooking) return;
    if (this.#wasUseless && performance.now() - this.#lookedAtMs < LOOK_AGAIN_MS) return;
    this.#isLooking = true;
    nextTurn(() => {
      this.#sweep()
        .catch((error: unknown) => this.#options.reporter.fault('sweep', error))
        .finally(() => {
          this.#isLooking = false;
          this.#waitsForLook = false;
          this.#lookedAtMs = performance.now();
          // Written while the last look was under way.
          if (!this.#wasUseless && this.#usedBytes > this.#triggerBytes) this.#look();
        });
    }).unref();
  }

  async #sweep(): Promise<void> {
    const { dir, dirBytes, maxAgeMs, own, nowMs } = this.#options;
    // Whatever goes wrong, not again at once.
    this.#wasUseless = true;
    this.#sweeper ??= new (await import('./sweep.ts')).Sweeper();
    const result = await this.#sweeper.sweep(
      {
        dir,
        maxBytes: dirBytes,
        triggerBytes: this.#triggerBytes,
        targetBytes: this.#targetBytes,
        maxAgeMs,
        own,
        keepFromN: () => this.#options.keepFromN(),
        writtenBytes: () => this.#writtenBytes,
        onSize: (totalBytes, atWrittenBytes) => {
          this.#listedBytes = totalBytes;
          this.#listedAtWritten = atWrittenBytes;
        },
      },
      nowMs(),
    );
    this.#wasUseless = result.freedBytes === 0 && (result.isBusy || this.#usedBytes > this.#triggerBytes);
    this.#mark();
    this.#count(result);
  }

  #count({ losses, failures }: SweepResult): void {
    const { reporter, dir } = this.#options;
    for (const reason of ['dir_bytes', 'dir_age'] as const) {
      const { unsent, sent, unsentBytes, sentBytes } = losses[reason];
      const taken = this.#taken[reason];
      taken.unsent += unsent;
      taken.sent += sent;
      taken.unsentBytes += unsentBytes;
      taken.sentBytes += sentBytes;
      if (unsent === 0) continue;
      reporter.warn(
        reason,
        `${dir} reached ${BOUND_NAMES[reason]}: the oldest recordings are removed, though they were sent nowhere`,
      );
      if (unsent > 1) reporter.count(reason, unsent - 1);
    }
    if (failures.count > 0) reporter.fault('sweep', failures.message);
    if (losses.dir_bytes.unsent + losses.dir_bytes.sent + losses.dir_age.unsent + losses.dir_age.sent > 0) {
      this.#options.onDropped(this.records());
    }
  }

  #mark(): void {
    const { fs } = this.#options;
    try {
      if (this.#usedBytes > this.#bodyBytes) fs.writeFileSync(this.#markPath, '', { flag: 'wx', mode: 0o600 });
      else if (this.#usedBytes <= this.#triggerBytes) fs.unlinkSync(this.#markPath);
    } catch {
      // There already, or not there.
    }
  }
}
