/**
 * Writes index objects while snapshots arrive: the rows of a minute are gathered, and the minute's own object is written
 * anew as a whole at every flush, so that a kill costs the rows of one interval at most. Several writers never share an
 * object. A lost row is no lost snapshot: `reindexRange` finds it again.
 */
import { randomBytes } from 'node:crypto';
import { type IndexRow, indexMinute, indexObjectName } from '@orangebox/schema';
import { unixMs } from '../filter.ts';
import type { ObjectBucket } from './bucket.ts';
import { IndexFilter } from './index-filter.ts';
import { indexLine, packIndexLines } from './index-rows.ts';

/** How an {@link IndexWriter} works. */
export interface IndexWriterOptions {
  /** Its part of the objects' names, `[0-9a-z]{1,32}`; random by default. Never shared by two that run. */
  writer?: string;
  /** Longest time that a row waits, in milliseconds (default 5,000). 0 leaves all writing to `flush()`. */
  flushMs?: number;
  /** Most rows of one object (default 5,000). */
  maxRows?: number;
  /** Most bytes of lines kept in memory (default 32 MiB). Rows beyond it are given up, oldest minute first. */
  maxBytes?: number;
  /** Told of every failed write. */
  onError?: (error: unknown) => void;
}

/** What an {@link IndexWriter} has done. */
export interface IndexWriterStats {
  added: number;
  written: number;
  /** Rows that are not in the store yet. */
  pending: number;
  /** Rows given up since the store did not take them and memory was full. */
  dropped: number;
  objectsWritten: number;
  failures: number;
}

/** Gathers rows and writes them. */
export interface IndexWriter {
  add(row: IndexRow): void;
  /** Writes what is not written. Rejects with the first failure; the rows are kept and tried again. */
  flush(): Promise<void>;
  /** Writes what is left and stops. Rejects as `flush` does. */
  close(): Promise<void>;
  stats(): IndexWriterStats;
}

/** The object of a minute is closed this long after its first row; what comes later goes to the next one. */
const OBJECT_OPEN_MS = 120_000;

/** Most bytes of lines of one object: readers take four times as much. */
export const INDEX_LINES_MAX_BYTES: number = 8 * 1024 * 1024;

/** Minutes whose last object's number is remembered. */
const GENERATIONS_MAX = 10_000;

/** Objects written at a time. */
const CONCURRENCY = 4;

/** Name of a writer that nobody else has. */
export function newIndexWriterId(): string {
  return `${Date.now().toString(36)}${randomBytes(6).toString('hex')}`;
}

/** Starts an index writer. Its timer does not keep the process alive. */
export function createIndexWriter(bucket: ObjectBucket, options: IndexWriterOptions = {}): IndexWriter {
  return new BucketIndexWriter(bucket, options);
}

/** An object that is being filled or waits to be written for the last time. */
interface OpenObject {
  name: string;
  /** Lines by key: a snapshot that arrives twice has one. */
  lines: Map<string, string>;
  filter: IndexFilter;
  bytes: number;
  openedMs: number;
  /** Lines that the stored object has. */
  written: number;
  isGivenUp: boolean;
}

class BucketIndexWriter implements IndexWriter {
  readonly #bucket: ObjectBucket;
  readonly #flushMs: number;
  readonly #maxRows: number;
  readonly #maxBytes: number;
  readonly #onError: (error: unknown) => void;
  #writer: string;
  /** By minute, in the order of their first row. */
  readonly #open: Map<string, OpenObject> = new Map();
  readonly #full: Set<OpenObject> = new Set();
  readonly #generations: Map<string, number> = new Map();
  readonly #stats = { added: 0, written: 0, dropped: 0, objectsWritten: 0, failures: 0 };
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(bucket: ObjectBucket, options: IndexWriterOptions) {
    this.#bucket = bucket;
    this.#writer = options.writer ?? newIndexWriterId();
    this.#flushMs = options.flushMs ?? 5_000;
    this.#maxRows = options.maxRows ?? 5_000;
    this.#maxBytes = options.maxBytes ?? 32 * 1024 * 1024;
    this.#onError = options.onError ?? (() => {});
  }

  add(row: IndexRow): void {
    const { date, minute } = indexMinute(unixMs(row.time.startUnixNano));
    const id = date + minute;
    const now = Date.now();
    let object = this.#open.get(id);
    if (object && (isFull(object, this.#maxRows) || now - object.openedMs >= OBJECT_OPEN_MS)) {
      this.#seal(id, object);
      object = undefined;
    }
    if (!object) {
      object = {
        name: this.#nextName(date, minute),
        lines: new Map(),
        filter: new IndexFilter(),
        bytes: 0,
        openedMs: now,
        written: 0,
        isGivenUp: false,
      };
      this.#open.set(id, object);
    }
    if (object.lines.has(row.key)) return;
    const line = indexLine(row);
    object.lines.set(row.key, line);
    object.filter.add(row);
    object.bytes += line.length;
    this.#bytes += line.length;
    this.#stats.added += 1;
    if (this.#bytes > this.#maxBytes) this.#makeRoom(object);
    this.#arm();
  }

  #nextName(date: string, minute: string): string {
    if (this.#generations.size >= GENERATIONS_MAX) {
      // Forgotten numbers must not be given out again: a new name has none behind it.
      this.#generations.clear();
      this.#writer = newIndexWriterId();
    }
    const generation = this.#generations.get(date + minute) ?? 0;
    this.#generations.set(date + minute, generation + 1);
    return indexObjectName({ date, minute, writer: this.#writer, generation });
  }

  /** Takes an object out of those that are filled; it stays until all its lines are stored. */
  #seal(id: string, object: OpenObject): void {
    this.#open.delete(id);
    if (object.written < object.lines.size) this.#full.add(object);
    else this.#bytes -= object.bytes;
  }

  /** Lets go of what is stored; then, where the store takes nothing, of the oldest. */
  #makeRoom(current: OpenObject): void {
    for (const [id, object] of this.#open) {
      if (object !== current && object.written === object.lines.size) this.#seal(id, object);
    }
    for (const object of [...this.#full, ...this.#open.values()]) {
      if (this.#bytes <= this.#maxBytes) return;
      if (object === current) continue;
      object.isGivenUp = true;
      this.#stats.dropped += object.lines.size - object.written;
      this.#bytes -= object.bytes;
      this.#full.delete(object);
      for (const [id, open] of this.#open) if (open === object) this.#open.delete(id);
    }
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#flushMs === 0 || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush().then(
        () => this.#rearm(),
        () => this.#rearm(),
      );
    }, this.#flushMs);
    this.#timer.unref();
  }

  /** Objects that may still be filled are closed by a later turn, so that memory goes when no more rows come. */
  #rearm(): void {
    if (this.#open.size > 0 || this.#full.size > 0) this.#arm();
  }

  flush(): Promise<void> {
    const turn = this.#flushing.then(() => this.#flushNow());
    this.#flushing = turn.catch(() => {});
    return turn;
  }

  async #flushNow(): Promise<void> {
    const now = Date.now();
    for (const [id, object] of [...this.#open]) {
      if (isFull(object, this.#maxRows) || now - object.openedMs >= OBJECT_OPEN_MS) this.#seal(id, object);
    }
    const due = [...this.#full, ...this.#open.values()].filter((object) => object.written < object.lines.size);
    let failed: { error: unknown } | undefined;
    const work = due.values();
    const run = async (): Promise<void> => {
      for (const object of work) {
        try {
          await this.#write(object);
        } catch (error) {
          this.#stats.failures += 1;
          failed ??= { error };
          this.#onError(error);
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, run));
    if (failed) throw failed.error;
  }

  async #write(object: OpenObject): Promise<void> {
    const lines = [...object.lines.values()];
    // Rows that come while it packs are in the filter already, and in the object at the next flush.
    const bytes = object.filter.stamp(await packIndexLines(lines));
    await this.#bucket.write(object.name, bytes, { contentType: 'application/gzip' });
    this.#stats.objectsWritten += 1;
    this.#stats.written += lines.length - object.written;
    // Given up while the store was at it, and then taken after all.
    if (object.isGivenUp) this.#stats.dropped -= lines.length - object.written;
    object.written = lines.length;
    if (object.written === object.lines.size && this.#full.delete(object)) this.#bytes -= object.bytes;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.flush();
  }

  stats(): IndexWriterStats {
    const { added, written, dropped } = this.#stats;
    return { ...this.#stats, pending: added - written - dropped };
  }
}

function isFull(object: OpenObject, maxRows: number): boolean {
  return object.lines.size >= maxRows || object.bytes >= INDEX_LINES_MAX_BYTES;
}
