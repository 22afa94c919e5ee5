/** Snapshots made anew from the segment, so that nothing need be held until it is sent. */
import { buildCallSnapshot, buildMeasuredCall, buildToolSnapshot, snapshotPieces } from '@orangebox/codec';
import type { ProcessInfo, SegmentRecord } from '@orangebox/schema';
import { readExchanges } from './read-exchanges.ts';
import { type ReadBits, readExchangesInBits } from './record-bits.ts';
import type { RecordLocation } from './record-location.ts';
import { sha256Hex } from './sha256.ts';
import type { OpenSnapshot } from './shipper.ts';

/** Where records are read from. */
export interface SnapshotSource {
  process: ProcessInfo;
  /** Reads records in the given order. @throws when a file is gone or damaged */
  read(locations: readonly RecordLocation[]): SegmentRecord[];
  /** The same bit by bit; the bytes of a chunk are valid until the next record is asked for. */
  readBits: ReadBits;
}

/** UTF-8 JSON of a call's snapshot. @throws when the segment does not hold it any more */
export function readCallSnapshotJson(
  end: RecordLocation,
  exchanges: readonly RecordLocation[],
  source: SnapshotSource,
): Uint8Array {
  const [record] = source.read([end]);
  if (record?.type !== 'callEnd') throw new Error('the segment has no such call');
  const { chain } = record;
  const input = { call: record, exchanges: readExchanges(exchanges, source.read), process: source.process };
  const snapshot = buildCallSnapshot(input, sha256Hex);
  if (snapshot.digest !== record.digest) throw new Error('the segment has other bytes than were recorded');
  return Buffer.from(JSON.stringify(chain ? { ...snapshot, chain } : snapshot));
}

/** The same JSON in pieces, its large bodies read again each time they are written. @throws as above */
export function* openCallSnapshot(
  end: RecordLocation,
  exchanges: readonly RecordLocation[],
  source: SnapshotSource,
): OpenSnapshot {
  const [record] = source.read([end]);
  if (record?.type !== 'callEnd') throw new Error('the segment has no such call');
  const records = yield* readExchangesInBits(exchanges, source.readBits);
  const { chain } = record;
  const { snapshot, large } = buildMeasuredCall(
    { call: record, exchanges: records, process: source.process },
    sha256Hex,
  );
  if (snapshot.digest !== record.digest) throw new Error('the segment has other bytes than were recorded');
  return () => snapshotPieces(chain ? { ...snapshot, chain } : snapshot, large);
}

/** UTF-8 JSON of a tool's snapshot. @throws when the segment does not hold it any more */
export function readToolSnapshotJson(location: RecordLocation, source: SnapshotSource): Uint8Array {
  const [record] = source.read([location]);
  if (record?.type !== 'tool') throw new Error('the segment has no such tool execution');
  return Buffer.from(JSON.stringify(buildToolSnapshot(record, source.process, sha256Hex)));
}
