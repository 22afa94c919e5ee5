/** Between exchanges and the segment: at most one write per turn for what comes in, at once for what goes out. */
import type { SegmentRecord } from '@orangebox/schema';
import type { RecordLocation } from './record-location.ts';
import type { SegmentWriter } from './segment-writer.ts';

/** Whoever a record belongs to learns where it stands, or that it could not be written. */
export interface RecordOwner {
  written(record: SegmentRecord, location: RecordLocation): void;
  notWritten(record: SegmentRecord): void;
}

/** Writes records in the order they are given. Without a writer, everything is `notWritten`. */
export class RecordSink {
  readonly #writer: SegmentWriter | undefined;
  #queue: { owner: RecordOwner | undefined; record: SegmentRecord }[] = [];
  #isScheduled = false;

  constructor(writer: SegmentWriter | undefined) {
    this.#writer = writer;
  }

  /** Writes now, what is queued first. */
  write(owner: RecordOwner | undefined, record: SegmentRecord): void {
    this.#queue.push({ owner, record });
    this.flush();
  }

  /** Writes at the end of this turn of the event loop. */
  queue(owner: RecordOwner | undefined, record: SegmentRecord): void {
    this.#queue.push({ owner, record });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Records of a program that has nothing else to do are written by its exit handler.
    setImmediate(() => this.flush()).unref();
  }

  /** Writes what is queued. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#queue.length === 0) return;
    const batch = this.#queue;
    this.#queue = [];
    const isChunk = (record: SegmentRecord): boolean =>
      record.type === 'requestChunk' || record.type === 'responseChunk';
    const bodies = this.#writer?.bodiesAllowed ?? false;
    const kept = batch.filter(({ record }) => bodies || !isChunk(record));
    const locations = this.#writer?.append(kept.map(({ record }) => record));
    kept.forEach(({ owner, record }, i) => {
      const location = locations?.[i];
      if (location) owner?.written(record, location);
      else owner?.notWritten(record);
    });
    if (kept.length < batch.length) {
      for (const { owner, record } of batch) if (isChunk(record)) owner?.notWritten(record);
    }
  }
}
