/** A payload that another process left, made ready for the shipper. */
import {
  addToExchange,
  buildCallSnapshot,
  buildMeasuredCall,
  buildToolSnapshot,
  type ExchangeRecords,
  newExchangeRecords,
  snapshotPieces,
} from '@orangebox/codec';
import type { CallEndRecord, ProcessInfo, Snapshot, ToolRecord } from '@orangebox/schema';
import { sha256Hex } from '../sha256.ts';
import { readExchangesInBits } from '../record-bits.ts';
import type { OpenSnapshot, ShipItem } from '../shipper.ts';
import { spanHead } from '../span-head.ts';
import { readBits, readRecords } from './record-reader.ts';
import type { PendingPayload } from './series-scan.ts';

/** What stands in for a process whose `segmentStart` is not on record any more; readers use the same. */
export const UNKNOWN_PROCESS: ProcessInfo = {
  pid: 0,
  threadId: 0,
  host: '',
  node: '',
  orangebox: '',
  serviceName: 'unknown_service',
};

/** The item to ship; undefined when its record is gone. `processes` are all that the series said of its process. */
export function shipItem(payload: PendingPayload, processes: readonly ProcessInfo[]): ShipItem | undefined {
  const record = endAt(payload);
  if (!record) return undefined;
  const { key, digest, trace, sizeBytes, spans } = record;
  if (key === undefined || key !== payload.key) return undefined;
  return {
    key,
    digest,
    traceId: trace.traceId,
    spanId: trace.spanId,
    spanHead: spanHead(spans[0]),
    sizeBytes,
    serviceName: (payload.process ?? processes.at(-1) ?? UNKNOWN_PROCESS).serviceName,
    readSnapshotJson: () => snapshotJson(payload, processes),
    ...(record.type === 'callEnd' ? { openSnapshot: () => openCall(payload, processes) } : {}),
  };
}

/** @throws when the series does not hold it as it was recorded */
function snapshotJson(payload: PendingPayload, processes: readonly ProcessInfo[]): Uint8Array {
  const record = endAt(payload);
  if (!record) throw new Error('the segment has no such call');
  const build = builderOf(record, payload);
  for (const process of candidates(payload, processes)) {
    const snapshot = build(process);
    if (snapshot.digest !== record.digest) continue;
    const chain = record.type === 'callEnd' ? record.chain : undefined;
    return Buffer.from(JSON.stringify(chain ? { ...snapshot, chain } : snapshot));
  }
  throw new Error('the segment has other bytes than were recorded');
}

/** The same in pieces, see {@link ShipItem.openSnapshot}. @throws as above */
function* openCall(payload: PendingPayload, processes: readonly ProcessInfo[]): OpenSnapshot {
  const record = endAt(payload);
  if (record?.type !== 'callEnd') throw new Error('the segment has no such call');
  const found = new Map(
    (yield* readExchangesInBits(payload.exchanges, readBits)).map((exchange) => [exchange.start.exchangeId, exchange]),
  );
  const exchanges = record.exchangeIds.flatMap((id) => found.get(id) ?? []);
  for (const process of candidates(payload, processes)) {
    const { snapshot, large } = buildMeasuredCall({ call: record, exchanges, process }, sha256Hex);
    if (snapshot.digest !== record.digest) continue;
    const { chain } = record;
    return () => snapshotPieces(chain ? { ...snapshot, chain } : snapshot, large);
  }
  throw new Error('the segment has other bytes than were recorded');
}

function candidates(payload: PendingPayload, processes: readonly ProcessInfo[]): ProcessInfo[] {
  return [...(payload.process ? [payload.process] : []), ...processes, UNKNOWN_PROCESS];
}

function builderOf(record: CallEndRecord | ToolRecord, payload: PendingPayload): (process: ProcessInfo) => Snapshot {
  if (record.type === 'tool') return (process) => buildToolSnapshot(record, process, sha256Hex);
  const exchanges = exchangesOf(record, payload);
  return (process) => buildCallSnapshot({ call: record, exchanges, process }, sha256Hex);
}

function exchangesOf(record: CallEndRecord, { exchanges: places }: PendingPayload): ExchangeRecords[] {
  const found = new Map<number, ExchangeRecords>();
  for (const part of readRecords(places).records) {
    if (!('exchangeId' in part)) continue;
    const known = found.get(part.exchangeId);
    if (part.type !== 'exchangeStart') {
      if (known) addToExchange(known, part);
    } else if (!known) found.set(part.exchangeId, newExchangeRecords(part));
  }
  return record.exchangeIds.flatMap((id) => found.get(id) ?? []);
}

function endAt({ location }: PendingPayload): CallEndRecord | ToolRecord | undefined {
  const [record] = readRecords([location]).records;
  return record?.type === 'callEnd' || record?.type === 'tool' ? record : undefined;
}
