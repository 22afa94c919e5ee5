/** Takes calls out of segments: the file is written anew without their frames, beside its place, and renamed there. */
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SEGMENT_HEADER_BYTES, type SegmentRecord } from '@orangebox/schema';
import { fsError, removeEmptyUpwards, replaceFile } from '../safe-fs.ts';
import type { LocalIndex } from './local-index.ts';
import { readFrames, type SegmentFile } from './segment-file.ts';
import type { IndexedRecord } from './indexed-record.ts';
import type { SeriesIndex } from './series-index.ts';

/** Bytes copied at a time. */
const COPY_BYTES = 1024 * 1024;

/** Records without which a segment is empty. */
const CONTENT: ReadonlySet<SegmentRecord['type']> = new Set([
  'exchangeStart',
  'requestHead',
  'requestChunk',
  'requestEnd',
  'responseHead',
  'responseChunk',
  'exchangeEnd',
  'callEnd',
  'tool',
]);

/** Whether every file that holds frames of a record is closed: nobody writes there any more. */
export function isPurgeable(record: IndexedRecord): boolean {
  const { series, from, place, type } = record;
  if (!series.mayBeWritten) return true;
  if (type === 'open') return false;
  return series.files.slice(from.file, place.file + 1).every((file) => file.closed);
}

/** Removes records from their files. Bytes that hold no valid frame, and frames of unknown types, go too. */
export async function purgeRecords(
  doomed: ReadonlySet<IndexedRecord>,
  index: LocalIndex,
): Promise<{ freedBytes: number }> {
  const bySeries = new Map<SeriesIndex, IndexedRecord[]>();
  for (const record of doomed) bySeries.set(record.series, [...(bySeries.get(record.series) ?? []), record]);
  let freedBytes = 0;
  for (const [series, records] of bySeries) {
    const exchangeIds = new Set(records.flatMap((record) => record.exchangeIds));
    const spanIds = new Set(records.map((record) => record.spanId));
    const isDoomed = (record: SegmentRecord): boolean => {
      if (record.type === 'callEnd' || record.type === 'tool') return spanIds.has(record.trace.spanId);
      if (record.type === 'shipped') return spanIds.has(record.key.split('/')[3] ?? '');
      return 'exchangeId' in record && exchangeIds.has(record.exchangeId);
    };
    for (const [i, { file, closed }] of series.files.entries()) {
      // An exchange's frames stand between its first and its last record; the writer's present file is never touched.
      const touched = records.some((r) => i >= r.from.file && (i <= r.place.file || r.type === 'open'));
      if (touched && (closed || !series.mayBeWritten)) freedBytes += await rewrite(file, isDoomed);
    }
    index.forget(series.name);
  }
  return { freedBytes };
}

/** Bytes that the file is smaller now. */
async function rewrite(file: SegmentFile, isDoomed: (record: SegmentRecord) => boolean): Promise<number> {
  const kept: { from: number; to: number }[] = [{ from: 0, to: SEGMENT_HEADER_BYTES }];
  let hasContent = false;
  let found = false;
  readFrames(file, { scan: true }, ({ record, offset, sizeBytes }) => {
    if (isDoomed(record)) {
      found = true;
      return;
    }
    hasContent ||= CONTENT.has(record.type);
    const last = kept.at(-1);
    if (last?.to === offset) last.to = offset + sizeBytes;
    else kept.push({ from: offset, to: offset + sizeBytes });
  });
  if (!found) return 0;
  if (!hasContent) {
    await rm(file.path, { force: true }).catch((error: unknown) => {
      throw fsError(error, file.path, 'write');
    });
    const dateDirectory = dirname(file.path);
    if (/\d{4}-\d{2}-\d{2}$/.test(dateDirectory)) await removeEmptyUpwards(dateDirectory, dirname(dateDirectory));
    return file.sizeBytes;
  }
  await replaceFile(file.path, async (target) => {
    const source = await open(file.path, 'r');
    try {
      const block = Buffer.allocUnsafe(COPY_BYTES);
      for (const { from, to } of kept) {
        for (let at = from; at < to; ) {
          const { bytesRead } = await source.read(block, 0, Math.min(block.length, to - at), at);
          if (bytesRead === 0) break;
          await target.write(block, 0, bytesRead);
          at += bytesRead;
        }
      }
    } finally {
      await source.close();
    }
  });
  return file.sizeBytes - kept.reduce((sum, { from, to }) => sum + to - from, 0);
}
