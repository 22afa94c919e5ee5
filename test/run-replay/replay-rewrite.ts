/** Rewrites recordings as somebody could who wants to harm the one who replays them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { decodeSegment, encodeRecord, encodeSegmentHeader } from '@orangebox/codec';
import type { SegmentRecord } from '@orangebox/schema';

/** What becomes of a record: itself, another, several or none. */
export type Change = (record: SegmentRecord) => SegmentRecord | SegmentRecord[];

/** The segment files of a program's recordings. */
export function segmentsOf(directory: string): string[] {
  const root = join(directory, '.orangebox', 'segments');
  return readdirSync(root).flatMap((date) => readdirSync(join(root, date)).map((name) => join(root, date, name)));
}

/** Changes the records of a segment; the checksums are right again. */
export function rewritten(segment: Uint8Array, change: Change): Buffer {
  const parts: Uint8Array[] = [encodeSegmentHeader()];
  for (const { record } of decodeSegment(segment, { crc32 })) {
    for (const one of [change(record)].flat()) parts.push(encodeRecord(one, crc32));
  }
  return Buffer.concat(parts);
}

/** Changes the recordings of a program. */
export function rewriteRecording(directory: string, change: Change): void {
  for (const file of segmentsOf(directory)) writeFileSync(file, rewritten(readFileSync(file), change));
}
