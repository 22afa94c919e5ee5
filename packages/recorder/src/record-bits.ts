/** Reading records back bit by bit, so that a call with large bodies is never in memory whole. */
import { crc32 } from 'node:zlib';
import {
  addToExchange,
  BodyMeasure,
  decodeSegment,
  encodeSegmentHeader,
  type ExchangeRecords,
  LARGE_BODY_MIN_BYTES,
  type LargeBody,
  newExchangeRecords,
} from '@orangebox/codec';
import { type ChunkRecord, SEGMENT_HEADER_BYTES, type SegmentRecord } from '@orangebox/schema';
import type { RecordLocation } from './record-location.ts';
import { presentOffset, RemovedByBoundError } from './retention/moved-records.ts';
import type { SegmentFs } from './segment-directory.ts';
import { runningSha256 } from './sha256.ts';

/** Work in small steps: the program may have its turn after each. */
type Steps<T> = Generator<void, T, void>;

/**
 * Records in order. Bytes of a chunk are valid until the next record is asked for.
 * @throws when a file is gone or damaged, or a sweep took the records
 */
export type ReadBits = (locations: readonly RecordLocation[]) => Iterable<SegmentRecord>;

type BitsFs = Pick<SegmentFs, 'openSync' | 'readSync' | 'closeSync'>;

/** Reads records of this process, also where a sweep has moved them. */
export function* readBackBits(locations: readonly RecordLocation[], fs: BitsFs): Generator<SegmentRecord> {
  for (const { path, offset, sizeBytes } of locations) {
    const present = presentOffset(path, offset, sizeBytes);
    if (present === undefined) throw new RemovedByBoundError(`removed by a bound of the directory: ${path}`);
    const fd = fs.openSync(path, 'r');
    try {
      yield* recordsAt(fd, present, sizeBytes, fs);
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** The records of a stretch of a file. @throws when the file ends before, or is damaged there */
export function* recordsAt(fd: number, offset: number, sizeBytes: number, fs: BitsFs): Generator<SegmentRecord> {
  let reused = new Uint8Array(0);
  // A part of a file is shown to the decoder as a file of its own: a header, then the frames of the part.
  const read = (from: number, length: number): Uint8Array => {
    if (from < SEGMENT_HEADER_BYTES) return encodeSegmentHeader();
    if (reused.length < length) reused = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const count = fs.readSync(fd, reused, done, length - done, offset + from - SEGMENT_HEADER_BYTES + done);
      if (count <= 0) break;
      done += count;
    }
    return reused.subarray(0, done);
  };
  const decoder = decodeSegment({ sizeBytes: SEGMENT_HEADER_BYTES + sizeBytes, read }, { crc32 });
  for (const { record } of decoder) yield record;
  if (decoder.end.state !== 'clean') throw new Error('segment is damaged');
}

/** The exchanges whose records stand at these places; large bodies stay there. @throws what reading throws */
export function* readExchangesInBits(locations: readonly RecordLocation[], read: ReadBits): Steps<ExchangeRecords[]> {
  const found = new Map<number, { records: ExchangeRecords; request: BodyReading; response: BodyReading }>();
  for (const record of read(locations)) {
    yield;
    if (!('exchangeId' in record)) continue;
    const known = found.get(record.exchangeId);
    if (record.type === 'exchangeStart') {
      if (known) continue;
      const request = new BodyReading();
      found.set(record.exchangeId, { records: newExchangeRecords(record), request, response: new BodyReading() });
    } else if (known && isChunk(record)) {
      const part = record.type === 'requestChunk' ? known.request : known.response;
      addToExchange(known.records, part.add(record));
    } else if (known) addToExchange(known.records, record);
  }
  return [...found.values()].map(({ records, request, response }) => {
    const bytesOf = (type: ChunkRecord['type']) => () => chunkBytes(read(locations), type, records.start.exchangeId);
    return withLarge(records, request.end(bytesOf('requestChunk')), response.end(bytesOf('responseChunk')));
  });
}

/** An exchange whose chunks are in memory, with what is to be known of those bodies that are large. */
export function measureHeld(records: ExchangeRecords): ExchangeRecords {
  return withLarge(records, heldLarge(records.requestChunks), heldLarge(records.responseChunks));
}

function heldLarge(chunks: readonly ChunkRecord[]): LargeBody | undefined {
  let sizeBytes = 0;
  for (const { bytes } of chunks) sizeBytes += bytes.length;
  if (sizeBytes < LARGE_BODY_MIN_BYTES) return undefined;
  const measure = new BodyMeasure(runningSha256());
  for (const { bytes } of chunks) measure.update(bytes);
  return {
    ...measure.end(),
    *pieces() {
      for (const { bytes } of chunks) yield bytes;
    },
  };
}

function withLarge(
  records: ExchangeRecords,
  request: LargeBody | undefined,
  response: LargeBody | undefined,
): ExchangeRecords {
  if (!request && !response) return records;
  return { ...records, large: { ...(request ? { request } : {}), ...(response ? { response } : {}) } };
}

const EMPTY_BYTES = new Uint8Array(0);

/** A body that is read for the first time: kept while it is small. */
class BodyReading {
  readonly #measure = new BodyMeasure(runningSha256());
  readonly #chunkSizes: number[] = [];
  #kept: ChunkRecord[] | undefined = [];

  /** The record to keep of a chunk. */
  add(record: ChunkRecord): ChunkRecord {
    this.#measure.update(record.bytes);
    this.#chunkSizes.push(record.bytes.length);
    if (!this.#kept) return { ...record, bytes: EMPTY_BYTES };
    if (this.#measure.sizeBytes < LARGE_BODY_MIN_BYTES) {
      const kept = { ...record, bytes: new Uint8Array(record.bytes) };
      this.#kept.push(kept);
      return kept;
    }
    for (const chunk of this.#kept) chunk.bytes = EMPTY_BYTES;
    this.#kept = undefined;
    return { ...record, bytes: EMPTY_BYTES };
  }

  end(pieces: LargeBody['pieces']): LargeBody | undefined {
    return this.#kept ? undefined : { ...this.#measure.end(), pieces, chunkSizes: this.#chunkSizes };
  }
}

function* chunkBytes(
  records: Iterable<SegmentRecord>,
  type: ChunkRecord['type'],
  exchangeId: number,
): Generator<Uint8Array> {
  for (const record of records) if (record.type === type && record.exchangeId === exchangeId) yield record.bytes;
}

function isChunk(record: SegmentRecord): record is ChunkRecord {
  return record.type === 'requestChunk' || record.type === 'responseChunk';
}

/** Does all the steps at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
