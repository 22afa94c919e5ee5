/** Everything that reads segments, over one segment. Throws what a reader must never throw. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  buildCallSnapshot,
  buildCrashedCallSnapshot,
  buildToolSnapshot,
  collectRecords,
  decodeSegment,
  withViews,
} from '@orangebox/codec';
import { OrangeboxError } from '@orangebox/schema';
import { createSegmentFileStore, createSegmentStore, parseSnapshot } from '@orangebox/store';
import { decodeBounded } from './decode.mjs';
import { sha256 } from './material.mjs';

const UNKNOWN = { pid: 0, threadId: 0, host: '', node: '', orangebox: '', serviceName: 'unknown_service' };
/** What a reader of a segment may say of it as a whole. */
const REFUSALS = new Set(['OBX_SEGMENT_MAGIC', 'OBX_SEGMENT_VERSION']);
/** Codes that a document of hostile records may be refused with. */
const SNAPSHOT_REFUSALS = /^OBX_SNAPSHOT_/;

function coded(work, allowed) {
  try {
    return work();
  } catch (error) {
    if (error instanceof OrangeboxError && allowed(error.code)) return undefined;
    throw error;
  }
}

const decode = (source, options) =>
  coded(
    () => {
      const decoder = decodeSegment(source, { crc32, ...options });
      const frames = [...decoder];
      return { frames, end: decoder.end };
    },
    (code) => REFUSALS.has(code),
  );

/** Reads as from a file: in windows, never beyond the end. */
const sourceOf = (bytes) => ({
  sizeBytes: bytes.length,
  read(offset, length) {
    if (offset < 0 || length < 0 || offset + length > bytes.length)
      throw new Error(`read ${length} at ${offset} of ${bytes.length}`);
    return bytes.subarray(offset, offset + length);
  },
});

function checkState({ frames, end }, bytes) {
  if (end.frames !== frames.length) throw new Error(`${frames.length} frames, and says ${end.frames}`);
  if (end.wholeBytes > bytes.length || end.damagedBytes > bytes.length) throw new Error('more bytes than there are');
  let last = 0;
  for (const { offset, sizeBytes } of frames) {
    if (offset < last || offset + sizeBytes > bytes.length) throw new Error('frames overlap or lie outside');
    last = offset + sizeBytes;
  }
}

/** Reads a snapshot on, as a page or a command would. */
function readOn(snapshot, deep) {
  const text = JSON.stringify(snapshot);
  if (!deep) return;
  coded(
    () => parseSnapshot(text, 'fuzz'),
    (code) => SNAPSHOT_REFUSALS.test(code),
  );
  JSON.stringify(withViews(snapshot, decodeBounded));
}

/** @param deep goes on to the views of each call too. */
function readSegment(bytes, deep) {
  const full = decode(bytes, {});
  if (!full) return;
  checkState(full, bytes);
  const scan = decode(sourceOf(bytes), { mode: 'scan' });
  checkState(scan, bytes);
  if (full.end.state === 'clean' && full.end.damagedFrames === 0 && scan.frames.length !== full.frames.length) {
    throw new Error(`${full.frames.length} frames in full, ${scan.frames.length} by scan`);
  }
  const found = collectRecords(full.frames.map(({ record }) => record));
  const process = found.process ?? UNKNOWN;
  for (const call of found.calls) {
    const exchanges = call.exchangeIds.flatMap((id) => found.exchanges.get(id) ?? []);
    readOn(buildCallSnapshot({ call, exchanges, process }, sha256), deep);
  }
  for (const tool of found.tools) readOn(buildToolSnapshot(tool, process, sha256), deep);
  for (const open of found.open) readOn(buildCrashedCallSnapshot(open, process, sha256), deep);
}

const directory = mkdtempSync(join(tmpdir(), 'orangebox-fuzz-segments-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const SERIES = 'host.test-4711-0-1767225600000';
let stores = 0;

/** The store over it as a file, and as two files of a directory, where calls are deleted too. */
async function readStore(bytes) {
  const box = join(directory, String(++stores));
  const paths = [0, 1].map((n) => join(box, 'segments', '2026-01-01', `${SERIES}-${n}.obxs`));
  mkdirSync(dirname(paths[0]), { recursive: true });
  for (const path of paths) writeFileSync(path, bytes);
  try {
    for (const store of [createSegmentFileStore(paths[0]), createSegmentStore(box)]) {
      for await (const entry of store.list({ order: 'oldest' })) {
        try {
          JSON.stringify(await store.load(entry));
        } catch (error) {
          if (!(error instanceof OrangeboxError)) throw error;
        }
      }
      await store.problems();
      await store.dropped();
      await store.sizes();
      if (store.kind === 'segments' && store.location === box) await store.delete({ sessionId: 's' });
      await store.close();
    }
  } finally {
    rmSync(box, { recursive: true, force: true });
  }
}

/** Checks one segment; `index` decides which of the dear checks it gets. */
export async function checkSegment(bytes, index) {
  readSegment(bytes, index % 4 === 0);
  if (index % 200 === 0) await readStore(bytes);
}
