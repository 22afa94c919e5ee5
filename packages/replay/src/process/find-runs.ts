/** Which replayable runs a directory of recordings holds. */
import { createHash } from 'node:crypto';
import { closeSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { decodeSegment } from '@orangebox/codec';
import {
  OrangeboxError,
  parseSegmentFileName,
  type RunStartRecord,
  SEGMENTS_DIRECTORY,
  SEGMENT_EXTENSION,
} from '@orangebox/schema';
import { isSoundStart } from './sound-records.ts';

/** A recorded run. */
export interface FoundRun {
  runId: string;
  /** Of its main thread. */
  start: RunStartRecord;
  /** Segment files of each thread, in order. */
  threads: { threadId: number; files: string[] }[];
}

/** Runs that are named where none or several are meant, newest first. */
const LISTED_RUNS = 5;
const COMMAND_MAX_CHARS = 60;
const START_ONLY = new Set(['runStart'] as const);
const NOTHING: readonly string[] = [];
/** Of a file, at a time. The start of a run, which stands at the beginning of its first file, lies within the first piece. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** The runs of a directory, oldest first. Files that cannot be read are passed over. */
export function findRuns(directory: string): FoundRun[] {
  const runs = new Map<string, FoundRun>();
  for (const files of seriesOf(join(directory, SEGMENTS_DIRECTORY))) {
    const start = startOf(files[0]);
    if (!start) continue;
    const run = runs.get(start.runId);
    const thread = { threadId: start.threadId, files };
    if (!run) runs.set(start.runId, { runId: start.runId, start, threads: [thread] });
    else {
      run.threads.push(thread);
      if (start.threadId < run.start.threadId) run.start = start;
    }
  }
  return [...runs.values()]
    .filter(({ start }) => start.threadId === 0)
    .sort((a, b) => Number(BigInt(a.start.startUnixNano) - BigInt(b.start.startUnixNano)));
}

/** The run that a reference names: its id, the beginning of it, or `last`. @throws `OBX_RUN_NOT_FOUND` */
export function findRun(directory: string, reference: string): FoundRun {
  const runs = findRuns(directory);
  const wanted = reference.startsWith('run-') ? reference : `run-${reference}`;
  const found =
    reference === 'last'
      ? runs.filter(({ start }) => start.parentRunId === undefined).slice(-1)
      : runs.filter(({ runId }) => runId.startsWith(wanted));
  const [run] = found;
  if (run && found.length === 1) return run;
  throw new OrangeboxError(
    'OBX_RUN_NOT_FOUND',
    run ? `several runs begin with ${reference}` : `no replayable run ${reference} is recorded here`,
    { hint: hintOf(run ? found : runs) },
  );
}

/** The runs of child processes of a run, which were recorded each by itself. */
export function childRunsOf({ runId }: FoundRun, directory: string): FoundRun[] {
  return findRuns(directory).filter(({ start }) => start.parentRunId === runId);
}

/** What was started, for people. */
export function commandOf({ start }: FoundRun): string {
  return [start.execPath, ...start.argv].join(' ').slice(0, COMMAND_MAX_CHARS);
}

function hintOf(runs: readonly FoundRun[]): string {
  if (runs.length === 0) return 'record one with: npx orangebox run --replayable -- node app.js';
  const newest = runs.slice(-LISTED_RUNS).reverse();
  return `there are ${newest.map((run) => `${run.runId} (${commandOf(run)})`).join(', ')}`;
}

/** SHA-256 over all files of a run. */
export function runDigest({ threads }: FoundRun): string {
  const hash = createHash('sha256');
  for (const { files } of threads) for (const file of files) for (const piece of piecesOf(file)) hash.update(piece);
  return hash.digest('hex');
}

/** A file, read piece by piece: how large it is is the recording's matter. Each piece is good until the next. */
function* piecesOf(file: string): Generator<Uint8Array, void, undefined> {
  const descriptor = openSync(file, 'r');
  try {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      const sizeBytes = readSync(descriptor, piece, 0, PIECE_BYTES, null);
      if (sizeBytes === 0) return;
      yield piece.subarray(0, sizeBytes);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The files of each series, in order; a recording's own links lead nowhere. */
function seriesOf(root: string): string[][] {
  const series = new Map<string, { n: number; path: string }[]>();
  for (const date of namesIn(root)) {
    for (const name of namesIn(join(root, date))) {
      const id = name.endsWith(SEGMENT_EXTENSION) ? parseSegmentFileName(name) : undefined;
      const path = join(root, date, name);
      if (!id || !lstatSync(path).isFile()) continue;
      const key = `${id.host}-${id.pid}-${id.threadId}-${id.startUnixMs}`;
      series.set(key, [...(series.get(key) ?? []), { n: id.n, path }]);
    }
  }
  return [...series.values()].map((files) => files.sort((a, b) => a.n - b.n).map(({ path }) => path));
}

function namesIn(directory: string): readonly string[] {
  try {
    return lstatSync(directory).isDirectory() ? readdirSync(directory) : NOTHING;
  } catch {
    return NOTHING;
  }
}

/** A run begins within the first records of its first file: of what is none, no more is read. */
function startOf(file: string | undefined): RunStartRecord | undefined {
  if (file === undefined) return undefined;
  try {
    const [beginning = new Uint8Array()] = piecesOf(file);
    for (const { record } of decodeSegment(beginning, { types: START_ONLY })) {
      if (record.type === 'runStart') return isSoundStart(record) ? record : undefined;
    }
  } catch {
    // No segment, or one of a later format.
  }
  return undefined;
}
