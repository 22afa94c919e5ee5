/**
 * Where exchanges stand whose call may or may not be kept. What is kept moves to the segment when its call ends; the rest
 * is forgotten, and its bytes leave the disk as soon as nothing undecided stands beside them.
 */
import type { SegmentRecord } from '@orangebox/schema';
import type { JournalWriter } from './journal-writer.ts';
import type { RecordLocation } from './record-location.ts';
import { RecordSink } from './record-sink.ts';

/** An exchange that stands here. */
export interface JournalEntry {
  readonly id: number;
  readonly locations: readonly RecordLocation[];
  /** All its records, with all bytes. @throws when some can't be read back */
  wholeRecords(): Iterable<SegmentRecord>;
  /** They stand here now, and nowhere else. */
  moved(location: RecordLocation): void;
}

/** Beyond this, and when most of it was forgotten, what is still open moves to a new file. */
const MOVE_BYTES = 4 * 1024 * 1024;

/** The undecided exchanges of a process. */
export class Journal {
  readonly sink: RecordSink;
  readonly #writer: JournalWriter;
  readonly #open: Set<JournalEntry> = new Set();
  #moveBytes = MOVE_BYTES;

  constructor(writer: JournalWriter) {
    this.#writer = writer;
    this.sink = new RecordSink(writer);
  }

  enter(entry: JournalEntry): void {
    this.#open.add(entry);
  }

  /** They are decided: what is kept of them stands elsewhere by now. */
  leave(entries: readonly JournalEntry[]): void {
    const here = entries.filter((entry) => this.#open.delete(entry));
    if (here.length === 0) return;
    // Nothing of theirs may come after they were forgotten.
    this.sink.flush();
    if (this.#open.size === 0) {
      this.#writer.clear();
      this.#moveBytes = MOVE_BYTES;
      return;
    }
    if (this.#writer.sizeBytes === 0) return;
    this.sink.write(undefined, { type: 'forgotten', exchangeIds: here.map(({ id }) => id) });
    if (this.#writer.sizeBytes > this.#moveBytes) this.#move();
  }

  #move(): void {
    const open = [...this.#open].filter(({ locations }) => locations.length > 0);
    const liveBytes = open.reduce((sum, { locations }) => sum + bytesOf(locations), 0);
    // The next time when as much again was forgotten, so that long streams are not copied over and over.
    this.#moveBytes = Math.max(MOVE_BYTES, 2 * liveBytes);
    if (this.#writer.sizeBytes <= this.#moveBytes) return;
    let rows: SegmentRecord[][];
    try {
      rows = open.map((entry) => [...entry.wholeRecords()]);
    } catch {
      // What can't be read can't be moved either. It is told when its call ends.
      this.#moveBytes = 2 * this.#writer.sizeBytes;
      return;
    }
    const places = this.#writer.replace(rows);
    if (places) open.forEach((entry, i) => places[i] && entry.moved(places[i]));
    else this.#moveBytes = 2 * this.#writer.sizeBytes;
  }
}

function bytesOf(locations: readonly RecordLocation[]): number {
  return locations.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
