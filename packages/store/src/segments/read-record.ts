/** From a place in a segment to its record and its snapshot. */
import {
  addToExchange,
  buildCallSnapshot,
  buildCrashedCallSnapshot,
  buildToolSnapshot,
  type ExchangeRecords,
  newExchangeRecords,
} from '@orangebox/codec';
import {
  type CallEndRecord,
  OrangeboxError,
  type ProcessInfo,
  type SegmentRecord,
  type Snapshot,
  type ToolRecord,
} from '@orangebox/schema';
import { sha256 } from '../hash.ts';
import type { IndexedRecord, Place } from './indexed-record.ts';
import type { SeriesIndex } from './series-index.ts';
import { readFrames } from './segment-file.ts';

/** What stands in for a process whose `segmentStart` is not on record any more. */
const UNKNOWN_PROCESS: ProcessInfo = {
  pid: 0,
  threadId: 0,
  host: '',
  node: '',
  orangebox: '',
  serviceName: 'unknown_service',
};

/** Reads the record at a place again; undefined when it is not there any more. */
export function readRecordAt(series: SeriesIndex, place: Place): SegmentRecord | undefined {
  const file = series.files[place.file]?.file;
  if (!file) return undefined;
  let found: SegmentRecord | undefined;
  readFrames(file, { from: place.offset, to: place.offset + place.sizeBytes }, (frame) => {
    found ??= frame.record;
  });
  return found;
}

/**
 * The snapshot of an indexed record, made from its records and compared with the digest they promise.
 *
 * @throws OrangeboxError `OBX_SNAPSHOT_LOST`, `OBX_SNAPSHOT_DIGEST`.
 */
export function loadRecord(indexed: IndexedRecord): Snapshot {
  const record = readRecordAt(indexed.series, indexed.place);
  if (record?.type === 'tool') {
    return verified(indexed, record, (process) => buildToolSnapshot(record, process, sha256));
  }
  if (record?.type === 'callEnd' && record.key === undefined) throw notKept(indexed);
  const { exchanges, damaged } = readExchanges(indexed);
  if (record?.type === 'callEnd') {
    if (exchanges.length < record.exchangeIds.length) throw lost(indexed, damaged);
    const snapshot = verified(indexed, record, (process) =>
      buildCallSnapshot({ call: record, exchanges, process }, sha256),
    );
    return withChain(snapshot, record);
  }
  const exchange = exchanges[0];
  if (!exchange) throw lost(indexed, damaged);
  return buildCrashedCallSnapshot(exchange, processesOf(indexed)[0] ?? UNKNOWN_PROCESS, sha256);
}

/** Every file of a series says the same of the process, but the first may be gone and what is known may have grown. */
function processesOf(indexed: IndexedRecord): ProcessInfo[] {
  return indexed.series.processes(indexed.place.file);
}

/** The snapshot whose digest is the promised one. */
function verified(
  indexed: IndexedRecord,
  record: CallEndRecord | ToolRecord,
  build: (process: ProcessInfo) => Snapshot,
): Snapshot {
  let made: Snapshot | undefined;
  for (const process of [...processesOf(indexed), UNKNOWN_PROCESS]) {
    made = build(process);
    if (made.digest === record.digest) return made;
  }
  throw new OrangeboxError(
    'OBX_SNAPSHOT_DIGEST',
    `the records of span ${indexed.spanId} do not give the digest they promise: the segment is damaged or was changed`,
    { hint: `fetch ${record.key ?? 'it'} from the object store if it was shipped` },
  );
}

function withChain(snapshot: Snapshot, record: CallEndRecord): Snapshot {
  return record.chain ? { ...snapshot, chain: record.chain } : snapshot;
}

function readExchanges(indexed: IndexedRecord): { exchanges: ExchangeRecords[]; damaged: boolean } {
  const { series, from, place, type } = indexed;
  const wanted = new Set(indexed.exchangeIds);
  const found = new Map<number, ExchangeRecords>();
  let damaged = false;
  const last = type === 'open' ? series.files.length - 1 : place.file;
  for (let i = from.file; i <= last; i += 1) {
    const file = series.files[i]?.file;
    if (!file) continue;
    const range = {
      ...(i === from.file ? { from: from.offset } : {}),
      ...(type !== 'open' && i === place.file ? { to: place.offset + place.sizeBytes } : {}),
    };
    const end = readFrames(file, range, ({ record }) => {
      if (!('exchangeId' in record) || !wanted.has(record.exchangeId)) return;
      if (record.type === 'exchangeStart') {
        if (!found.has(record.exchangeId)) found.set(record.exchangeId, newExchangeRecords(record));
        return;
      }
      const exchange = found.get(record.exchangeId);
      if (!exchange) return;
      addToExchange(exchange, detached(record));
    });
    damaged ||= end.damagedFrames > 0;
  }
  const exchanges = indexed.exchangeIds.flatMap((id) => found.get(id) ?? []);
  return { exchanges, damaged };
}

/** Chunk bytes are views of a read block that may hold other calls' chunks too; small ones are copied out. */
function detached<T extends SegmentRecord>(record: T): T {
  if (record.type !== 'requestChunk' && record.type !== 'responseChunk') return record;
  if (record.bytes.byteLength * 4 > record.bytes.buffer.byteLength) return record;
  return { ...record, bytes: record.bytes.slice() };
}

function lost(indexed: IndexedRecord, damaged: boolean): OrangeboxError {
  const why = damaged ? 'their frames are damaged' : 'the segment that held them was removed';
  return new OrangeboxError('OBX_SNAPSHOT_LOST', `the bytes of span ${indexed.spanId} are gone: ${why}`, {
    hint: 'raise ORANGEBOX_DIR_BYTES to keep more, or fetch it from the object store if it was shipped',
  });
}

function notKept(indexed: IndexedRecord): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_NOT_KEPT', `no bodies were kept for span ${indexed.spanId}`, {
    hint: 'record with ORANGEBOX_LEVEL=full and a writable ORANGEBOX_DIR',
  });
}
