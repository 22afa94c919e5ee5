/** Segment files on disk: finding them, reading ranges of them, telling whether their writer still lives. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type DecodedFrame, decodeSegment, encodeSegmentHeader, type SegmentState } from '@orangebox/codec';
import {
  parseSegmentFileName,
  type RecordTypeName,
  SEGMENT_EXTENSION,
  SEGMENT_HEADER_BYTES,
  type SegmentFileId,
  segmentHost,
} from '@orangebox/schema';
import { fsCode, fsError } from '../safe-fs.ts';

/** A segment file. */
export interface SegmentFile {
  path: string;
  id: SegmentFileId;
  sizeBytes: number;
  modifiedMs: number;
}

/** Name of the series a file belongs to: one thread of one process. */
export function seriesName(id: SegmentFileId): string {
  return `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
}

/** The segment files below a directory, in date folders or not, each series in order. */
export async function findSegmentFiles(directory: string): Promise<SegmentFile[]> {
  const files: SegmentFile[] = [];
  for (const name of await directoryNames(directory)) {
    if (name.endsWith(SEGMENT_EXTENSION)) await addFile(files, join(directory, name), name);
    else if (/^\d{4}-\d{2}-\d{2}$/.test(name)) {
      for (const inner of await directoryNames(join(directory, name))) {
        await addFile(files, join(directory, name, inner), inner);
      }
    }
  }
  return files.sort((a, b) => a.id.startUnixMs - b.id.startUnixMs || a.id.n - b.id.n);
}

async function directoryNames(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    if (fsCode(error) === 'ENOENT' || fsCode(error) === 'ENOTDIR') return [];
    throw fsError(error, path, 'read');
  }
}

async function addFile(files: SegmentFile[], path: string, name: string): Promise<void> {
  const id = parseSegmentFileName(name);
  if (!id) return;
  try {
    const facts = await stat(path);
    if (facts.isFile()) files.push({ path, id, sizeBytes: facts.size, modifiedMs: facts.mtimeMs });
  } catch (error) {
    // Rotation and bounds may remove a file between listing and looking.
    if (fsCode(error) !== 'ENOENT') throw fsError(error, path, 'read');
  }
}

/** Which part of a file is read, and how. */
export interface ReadRange {
  /** Offset of the first frame; the first of the file by default. */
  from?: number;
  /** Offset after the last frame; the file's known size by default. */
  to?: number;
  /** Without the bytes of chunks; long ones are then not read from the disk. */
  scan?: boolean;
  /** Only records of these types. */
  types?: ReadonlySet<RecordTypeName>;
}

/**
 * Visits the frames of a file or of a part of it, with offsets as in the file. Chunk bytes stay valid after the visit.
 *
 * @throws OrangeboxError `OBX_SEGMENT_MAGIC`, `OBX_SEGMENT_VERSION`, `OBX_STORE_*`.
 */
export function readFrames(
  file: Pick<SegmentFile, 'path' | 'sizeBytes'>,
  range: ReadRange,
  visit: (frame: DecodedFrame) => void,
): SegmentState {
  let handle: number;
  try {
    handle = openSync(file.path, 'r');
  } catch (error) {
    throw fsError(error, file.path, 'read');
  }
  try {
    const from = Math.max(range.from ?? SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES);
    const to = Math.min(range.to ?? file.sizeBytes, file.sizeBytes);
    // A part of a file is shown to the decoder as a file of its own: a header, then the frames of the part.
    const shift = from - SEGMENT_HEADER_BYTES;
    let reused = Buffer.allocUnsafeSlow(0);
    const source = {
      sizeBytes: shift === 0 ? to : Math.max(SEGMENT_HEADER_BYTES, to - shift),
      read(offset: number, length: number): Uint8Array {
        if (shift > 0 && offset < SEGMENT_HEADER_BYTES) return encodeSegmentHeader();
        if (!range.scan) return readFully(handle, Buffer.allocUnsafeSlow(length), offset + shift);
        if (reused.length < length) reused = Buffer.allocUnsafeSlow(length);
        return readFully(handle, reused.subarray(0, length), offset + shift);
      },
    };
    const decoder = decodeSegment(source, {
      crc32,
      mode: range.scan ? 'scan' : 'full',
      ...(range.types ? { types: range.types } : {}),
    });
    for (const frame of decoder) {
      frame.offset += shift;
      visit(frame);
    }
    decoder.end.wholeBytes += shift;
    return decoder.end;
  } finally {
    closeSync(handle);
  }
}

function readFully(handle: number, target: Buffer, position: number): Buffer {
  let filled = 0;
  while (filled < target.length) {
    const count = readSync(handle, target, filled, target.length - filled, position + filled);
    if (count === 0) return target.subarray(0, filled);
    filled += count;
  }
  return target;
}

/** A file of another host is shown as being written for this long after its last change. */
const FOREIGN_LIVE_MS = 10 * 60_000;

/**
 * Whether the process that wrote a series may still be running. A process number that was given to a later process
 * does not count. A process of another host cannot be asked: it counts for `foreignMs` after the file's last change.
 */
export function writerLives(last: SegmentFile, foreignMs: number = FOREIGN_LIVE_MS): boolean {
  const { host, pid, startUnixMs } = last.id;
  if (host !== segmentHost(hostname())) return Date.now() - last.modifiedMs < foreignMs;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (fsCode(error) !== 'EPERM') return false;
  }
  const startedMs = processStartMs(pid);
  return startedMs === undefined || startedMs < startUnixMs + 2_000;
}

/** When a process of this machine started, where the platform tells (Linux). */
function processStartMs(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and parentheses; the fields are counted after its end.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended: it waits for its parent only.
    if (fields[0] === 'Z' || fields[0] === 'X') return Number.POSITIVE_INFINITY;
    const bootS = Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1]);
    const startedMs = (bootS + Number(fields[19]) / 100) * 1000;
    return Number.isFinite(startedMs) ? startedMs : undefined;
  } catch {
    return undefined;
  }
}
