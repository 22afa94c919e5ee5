/** From a place in a segment to a list entry or a snapshot. */
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
  type ExchangeStartRecord,
  OrangeboxError,
  type ProcessInfo,
  type SegmentRecord,
  type Snapshot,
  type ToolRecord,
} from '@orangebox/schema';
import { sha256 } from '../hash.ts';
import type { StoredEntry, StoredStatus } from '../store.ts';
import type { IndexedRecord, Place, SeriesIndex } from './series-index.ts';
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

/** The entry of an indexed record, `ref` still empty; undefined when its file was rewritten meanwhile. */
export function readEntry(indexed: IndexedRecord): StoredEntry | undefined {
  const record = readRecordAt(indexed.series, indexed.place);
  const location = indexed.series.files[indexed.place.file]?.file.path ?? '';
  const [info] = indexed.series.processes(indexed.place.file);
  const common = {
    ref: '',
    location,
    ...(info
      ? { process: { pid: info.pid, threadId: info.threadId, host: info.host, serviceName: info.serviceName } }
      : {}),
    ...(indexed.shipped ? { shipped: true as const } : {}),
  };
  switch (record?.type) {
    case 'callEnd':
      return { ...callEntry(record, indexed), ...common };
    case 'tool':
      return { ...toolEntry(record), ...common };
    case 'exchangeStart':
      return { ...openEntry(record, indexed), ...common };
    default:
      return undefined;
  }
}

function callEntry(record: CallEndRecord, indexed: IndexedRecord): Omit<StoredEntry, 'ref' | 'location'> {
  const start = indexed.incomplete ? undefined : readRecordAt(indexed.series, indexed.from);
  const request = start?.type === 'exchangeStart' ? { method: start.method, url: start.url } : undefined;
  return {
    ...(record.key === undefined ? {} : { key: record.key }),
    kind: record.kind,
    trace: record.trace,
    ...(record.session ? { session: record.session } : {}),
    scope: start?.type === 'exchangeStart' ? start.scope : [],
    time: record.time,
    summary: record.summary,
    ...(record.error ? { error: { type: record.error.type, message: record.error.message } } : {}),
    fidelity: record.fidelity,
    status: statusOf(record, indexed),
    sizeBytes: record.sizeBytes,
    digest: record.digest,
    ...(record.chain ? { chain: record.chain } : {}),
    ...(record.attemptSpanIds ? { attemptSpanIds: record.attemptSpanIds } : {}),
    ...(request ? { request } : {}),
  };
}

function statusOf(record: CallEndRecord, indexed: IndexedRecord): StoredStatus {
  if (record.key === undefined) return 'not_kept';
  return indexed.incomplete ? 'lost' : 'stored';
}

function toolEntry(record: ToolRecord): Omit<StoredEntry, 'ref' | 'location'> {
  const { tool } = record;
  return {
    ...(record.key === undefined ? {} : { key: record.key }),
    kind: 'tool',
    trace: record.trace,
    ...(record.session ? { session: record.session } : {}),
    scope: record.scope,
    time: record.time,
    tool: {
      name: tool.name,
      basis: tool.basis,
      failed: tool.error !== undefined || record.error !== undefined,
      ...(tool.callId === undefined ? {} : { callId: tool.callId }),
      ...(tool.askedBy === undefined ? {} : { askedBy: tool.askedBy }),
    },
    ...(record.error ? { error: { type: record.error.type, message: record.error.message } } : {}),
    fidelity: record.fidelity,
    status: record.key === undefined ? 'not_kept' : 'stored',
    sizeBytes: record.sizeBytes,
    digest: record.digest,
  };
}

function openEntry(record: ExchangeStartRecord, indexed: IndexedRecord): Omit<StoredEntry, 'ref' | 'location'> {
  const open = indexed.series.live;
  return {
    kind: record.kind,
    trace: record.trace,
    ...(record.session ? { session: { ...record.session, seq: 0, basis: 'declared' as const } } : {}),
    scope: record.scope,
    time: { startUnixNano: record.startUnixNano, endUnixNano: record.startUnixNano },
    summary: { ending: 'process_died', attempts: 1, stream: false },
    fidelity: { level: 'partial', reason: 'process_died' },
    status: open ? 'open' : 'stored',
    request: { method: record.method, url: record.url },
  };
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
