/**
 * Recordings of this process that are promised to the payload endpoint. Thousands may wait there while it is out of reach, so
 * that one holds a place in the segment and little else: what its key tells is read from the key.
 */
import type { CallEndRecord, ToolRecord } from '@orangebox/schema';
import type { RecordLocation } from './record-location.ts';
import type { OpenSnapshot, ShipItem } from './shipper.ts';
import { type SpanHead, spanHead } from './span-head.ts';
import {
  openCallSnapshot,
  readCallSnapshotJson,
  readToolSnapshotJson,
  type SnapshotSource,
} from './stored-snapshot.ts';

abstract class StoredItem implements ShipItem {
  readonly key: string;
  readonly digest: string;
  readonly spanHead: SpanHead;
  readonly sizeBytes: number;

  constructor(key: string, { digest, spans, sizeBytes }: CallEndRecord | ToolRecord) {
    this.key = key;
    this.digest = digest;
    this.spanHead = spanHead(spans[0]);
    this.sizeBytes = sizeBytes;
  }

  get traceId(): string {
    return this.key.split('/')[2] ?? '';
  }

  get spanId(): string {
    return this.key.split('/')[3] ?? '';
  }

  abstract readSnapshotJson(): Uint8Array;
}

/** A call. */
export class CallItem extends StoredItem {
  readonly #location: RecordLocation;
  readonly #exchanges: readonly RecordLocation[];
  readonly #source: SnapshotSource;

  /** @param key the record's */
  constructor(
    key: string,
    record: CallEndRecord,
    location: RecordLocation,
    exchanges: readonly RecordLocation[],
    source: SnapshotSource,
  ) {
    super(key, record);
    this.#location = location;
    // A list that grew has room for more.
    this.#exchanges = exchanges.slice();
    this.#source = source;
  }

  readSnapshotJson(): Uint8Array {
    return readCallSnapshotJson(this.#location, this.#exchanges, this.#source);
  }

  openSnapshot(): OpenSnapshot {
    return openCallSnapshot(this.#location, this.#exchanges, this.#source);
  }
}

/** A tool execution. */
export class ToolItem extends StoredItem {
  readonly #location: RecordLocation;
  readonly #source: SnapshotSource;

  /** @param key the record's */
  constructor(key: string, record: ToolRecord, location: RecordLocation, source: SnapshotSource) {
    super(key, record);
    this.#location = location;
    this.#source = source;
  }

  readSnapshotJson(): Uint8Array {
    return readToolSnapshotJson(this.#location, this.#source);
  }
}
