/** Between exchanges and the segment: at most one write per turn for what comes in, at once for what goes out. */
import type { SegmentRecord } from '@orangebox/schema';
import type { RecordLocation } from './record-location.ts';
import { nextTurn } from './timers.ts';

/** Whoever records belong to learns where they stand, or that they could not be written. */
export interface RecordOwner {
  written(records: readonly SegmentRecord[], location: RecordLocation): void;
  notWritten(): void;
}

/** What puts records on the disk. Never throws. */
export interface RecordWriter {
  /** False: the disk is short of room, chunks are to be left out. */
  readonly bodiesAllowed: boolean;
  /** The place of each row, or undefined when they are not on the disk. */
  append(rows: readonly (readonly SegmentRecord[])[]): RecordLocation[] | undefined;
  /** Has the device keep what was written, beside the program, where the configuration asks for it. */
  syncSoon?(): void;
}

/** Records of one owner that follow each other. */
interface Row {
  owner: RecordOwner | undefined;
  records: SegmentRecord[];
}

/** Writes records in the order they are given. Without a writer, everything is `notWritten`. */
export class RecordSink {
  readonly #writer: RecordWriter | undefined;
  #rows: Row[] = [];
  #isScheduled = false;

  constructor(writer: RecordWriter | undefined) {
    this.#writer = writer;
  }

  /** Writes now, what is queued first. */
  write(owner: RecordOwner | undefined, record: SegmentRecord): void {
    this.#push(owner, record);
    this.flush();
  }

  /** Writes at the end of this turn of the event loop. */
  queue(owner: RecordOwner | undefined, record: SegmentRecord): void {
    this.#push(owner, record);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Records of a program that has nothing else to do are written by its exit handler.
    nextTurn(() => this.flush()).unref();
  }

  /** Writes what is queued, which a power cut is to leave, too. */
  flushAndSync(): void {
    this.flush();
    this.#writer?.syncSoon?.();
  }

  /** Writes what is queued. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#rows.length === 0) return;
    const rows = this.#writer?.bodiesAllowed ? this.#rows : withoutBodies(this.#rows);
    this.#rows = [];
    const locations = this.#writer?.append(rows.map(({ records }) => records));
    rows.forEach(({ owner, records }, i) => {
      const location = locations?.[i];
      if (location) owner?.written(records, location);
      else owner?.notWritten();
    });
  }

  #push(owner: RecordOwner | undefined, record: SegmentRecord): void {
    const last = this.#rows.at(-1);
    if (last && last.owner === owner) last.records.push(record);
    else this.#rows.push({ owner, records: [record] });
  }
}

/** The rows without chunks; their owners are told. */
function withoutBodies(rows: readonly Row[]): Row[] {
  const kept: Row[] = [];
  for (const { owner, records } of rows) {
    const others = records.filter(({ type }) => type !== 'requestChunk' && type !== 'responseChunk');
    if (others.length < records.length) owner?.notWritten();
    if (others.length > 0) kept.push({ owner, records: others });
  }
  return kept;
}
