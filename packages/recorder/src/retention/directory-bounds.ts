/**
 * What a writer knows of the bounds of its directory: how full it is, whether more may be written, and what bounds took.
 * The sweep itself is loaded beside the program.
 */
import type { DroppedRecord, SegmentFileId } from '@orangebox/schema';
import type { Reporter } from '../report.ts';
import type { SegmentFs } from '../segment-directory.ts';
import { afterMs, monotonicMs, nextTurn } from '../timers.ts';
import { readFullMark, removeFullMark, writeFullMark } from './full-mark.ts';
import { noLosses, type SweepLosses } from './losses.ts';
import { makeRoomAtOnce } from './room-at-once.ts';
import type { Sweeper } from './sweep.ts';
import { type Thresholds, thresholdsOf } from './thresholds.ts';

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

/** Room that a process makes before its first file, where the directory is full: some more than it will need. */
const ROOM_AT_ONCE_BYTES = 4 * 1024 * 1024;
/** After a look that changed nothing the next one waits. */
const LOOK_AGAIN_MS = 1000;
/** Without a write in between it waits twice as long each time, up to this. */
const LOOK_LATEST_MS = 64_000;
/** Share of the room that one process uses before it looks again; others may be writing too. */
const LOOK_SHARE = 16;
/** What others are taken to write at most, for each byte of one's own. */
const MAX_OTHERS_SHARE = 16;
const BOUND_NAMES = { dir_bytes: 'ORANGEBOX_DIR_BYTES', dir_age: 'ORANGEBOX_DIR_DAYS' } as const;
type BoundReason = keyof typeof BOUND_NAMES;

/** Keeps one writer within the bounds of its directory. */
export class DirectoryBounds {
  readonly #options: BoundsOptions;
  readonly #thresholds: Thresholds;
  #sweeper: Sweeper | undefined;
  /** Bytes of the directory, less what this writer added since; undefined before the first look. */
  #listedBytes: number | undefined;
  #writtenBytes = 0;
  #listedAtWritten = 0;
  /** What others wrote between two looks, for each byte of one's own: they go on meanwhile. */
  #othersShare = 0;
  #isLooking = false;
  #wasOpened = false;
  /** The mark is there, as far as is known. */
  #isMarked = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #wasUseless = false;
  #willLook = false;
  #againMs = LOOK_AGAIN_MS;
  readonly #taken: Record<BoundReason, { unsent: number; sent: number; unsentBytes: number; sentBytes: number }> = {
    dir_bytes: { unsent: 0, sent: 0, unsentBytes: 0, sentBytes: 0 },
    dir_age: { unsent: 0, sent: 0, unsentBytes: 0, sentBytes: 0 },
  };

  constructor(options: BoundsOptions) {
    this.#options = options;
    this.#thresholds = thresholdsOf(options.dirBytes);
  }

  /** Bodies may be written. */
  get allowsBodies(): boolean {
    if (this.#usedBytes <= this.#thresholds.bodyBytes) return true;
    this.#full();
    return false;
  }

  /** So many bytes may be written. */
  hasRoom(sizeBytes: number): boolean {
    if (this.#usedBytes + sizeBytes <= this.#thresholds.recordBytes) return true;
    this.#full();
    return false;
  }

  /** Before the first file: where somebody found the directory full, room is made at once. */
  opening(): void {
    if (this.#wasOpened) return;
    this.#wasOpened = true;
    const { dir, rotateBytes, own, fs, nowMs } = this.#options;
    const mark = readFullMark(dir, fs);
    if (!mark) return;
    this.#isMarked = true;
    const { bodyBytes, recordBytes } = this.#thresholds;
    const { usedBytes, loss } = makeRoomAtOnce({
      dir,
      keepBytes: bodyBytes - Math.min(ROOM_AT_ONCE_BYTES, rotateBytes),
      markedBytes: mark.usedBytes ?? recordBytes,
      own,
      nowMs: nowMs(),
      fs,
    });
    this.#listedBytes = usedBytes;
    this.#listedAtWritten = this.#writtenBytes;
    this.#count({ ...noLosses(), dir_bytes: loss });
    this.#look();
  }

  /** At the end of the process: the next one has to know how full the directory is. */
  closing(): void {
    const { dir, fs } = this.#options;
    if (this.#isMarked && readFullMark(dir, fs)) this.#mark();
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
    const room = Math.max(this.#options.rotateBytes, this.#thresholds.bodyBytes - listed);
    const isGrown = this.#writtenBytes - this.#listedAtWritten >= room / LOOK_SHARE;
    if (isGrown || this.#usedBytes > this.#thresholds.triggerBytes) this.#look();
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
    return (this.#listedBytes ?? 0) + (this.#writtenBytes - this.#listedAtWritten) * (1 + this.#othersShare);
  }

  /** A look found so many bytes, when so many had been written here. */
  #listed(totalBytes: number, atWrittenBytes: number): void {
    const ownBytes = atWrittenBytes - this.#listedAtWritten;
    const othersBytes = this.#listedBytes === undefined ? 0 : totalBytes - this.#listedBytes - ownBytes;
    // Where a sweep made room nothing is known, and what was known counts for less.
    if (ownBytes > 0)
      this.#othersShare = othersBytes < 0 ? this.#othersShare / 2 : Math.min(MAX_OTHERS_SHARE, othersBytes / ownBytes);
    this.#listedBytes = totalBytes;
    this.#listedAtWritten = atWrittenBytes;
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
    if (this.#wasUseless && monotonicMs() - this.#lookedAtMs < LOOK_AGAIN_MS) return;
    this.#isLooking = true;
    nextTurn(() => {
      this.#sweep()
        .catch((error: unknown) => this.#options.reporter.fault('sweep', error))
        .finally(() => {
          this.#isLooking = false;
          this.#lookedAtMs = monotonicMs();
          if (this.#usedBytes <= this.#thresholds.triggerBytes) this.#againMs = LOOK_AGAIN_MS;
          else if (this.#wasUseless) this.#lookLater();
          // Written while the last look was under way.
          else this.#look();
        });
    }).unref();
  }

  /** Files that were in use may be free by then, and the program may not write for long. */
  #lookLater(): void {
    if (this.#willLook) return;
    this.#willLook = true;
    afterMs(this.#againMs, () => {
      this.#willLook = false;
      this.#wasUseless = false;
      this.#look();
    }).unref();
    this.#againMs = Math.min(2 * this.#againMs, LOOK_LATEST_MS);
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
        ...this.#thresholds,
        maxAgeMs,
        own,
        keepFromN: () => this.#options.keepFromN(),
        writtenBytes: () => this.#writtenBytes,
        isUrgent: () => this.#usedBytes > this.#thresholds.bodyBytes,
        onSize: (totalBytes, atWrittenBytes) => {
          this.#listed(totalBytes, atWrittenBytes);
          // Now, as the process may end before the sweep does.
          if (totalBytes > this.#thresholds.bodyBytes && !this.#isMarked) this.#mark();
        },
        onLosses: (losses) => this.#count(losses),
      },
      nowMs(),
    );
    // What was written meanwhile is another look's.
    const isStillFull = result.totalBytes > this.#thresholds.triggerBytes;
    this.#wasUseless = result.freedBytes === 0 && (result.isBusy || isStillFull);
    this.#mark();
    if (result.failures.count > 0) this.#options.reporter.fault('sweep', result.failures.message);
  }

  #count(losses: SweepLosses): void {
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
    if (losses.dir_bytes.unsent + losses.dir_bytes.sent + losses.dir_age.unsent + losses.dir_age.sent > 0) {
      this.#options.onDropped(this.records());
    }
  }

  /** Says how full the directory is, where it is; what a sweep brought below its threshold needs no mark. */
  #mark(): void {
    const { dir, dirBytes, fs } = this.#options;
    const { bodyBytes, triggerBytes } = this.#thresholds;
    const used = this.#usedBytes;
    if (used > bodyBytes || (this.#isMarked && used > triggerBytes)) {
      writeFullMark(dir, used, dirBytes, fs);
      this.#isMarked = true;
    } else if (used <= triggerBytes) {
      removeFullMark(dir, fs);
      this.#isMarked = false;
    }
  }
}
