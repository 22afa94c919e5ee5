/** One thread of a recorded run, read from its segment files and sorted into what a replay gives and what it waits for. */
import { readFileSync, statSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { addToExchange, decodeSegment, type ExchangeRecords, newExchangeRecords } from '@orangebox/codec';
import {
  type CallEndRecord,
  type ChildRecord,
  type DoneWork,
  type DrawnValue,
  type FilesChangedRecord,
  type InputPiece,
  type NotReplayableRecord,
  OrangeboxError,
  type RunEndRecord,
  type RunFilesRecord,
  type RunStartRecord,
  type SegmentRecord,
  type ThreadEventRecord,
  type TimerFiredRecord,
  type ToolRunRecord,
} from '@orangebox/schema';
import { isSoundChange, isSoundFile } from './files/sound-files.ts';
import { isSoundChild, isSoundDraw, isSoundInput, isSoundStart, isSoundTimer, isSoundTool } from './sound-records.ts';

/** Files that are more than this together are no recording of a run that anybody can replay. */
const MAX_BYTES = 2 * 1024 * 1024 * 1024;

/** A recorded thread. */
export interface RecordedRun {
  start: RunStartRecord;
  /** Absent where the process died. */
  end: RunEndRecord | undefined;
  /** In the order in which they were begun. */
  exchanges: ExchangeRecords[];
  /** Attempt of each exchange within its call, by exchange number. */
  attempts: ReadonlyMap<number, number>;
  /** In order. */
  draws: DrawnValue[];
  timers: TimerFiredRecord[];
  children: ChildRecord[];
  threadEvents: ThreadEventRecord[];
  toolRuns: ToolRunRecord[];
  work: DoneWork[];
  /** Numbers of timers that are made within tools which are given: the program does not make them. */
  timersWithinTools?: ReadonlySet<number>;
  /** Of standard input, in order. */
  input: InputPiece[];
  notReplayable: NotReplayableRecord[];
  /** The working directory at the start; undefined where nothing is on record of it. */
  files: RunFilesRecord[] | undefined;
  fileChanges: FilesChangedRecord[];
  /** The files are not whole, or lack what the run's records speak of. */
  isDamaged: boolean;
}

/** Reads a thread's files, in order. @throws `OBX_RUN_NOT_FOUND`, `OBX_RUN_UNREADABLE`, and the errors of segments */
export function readRun(files: readonly string[]): RecordedRun {
  const run: Omit<RecordedRun, 'start'> & { start?: RunStartRecord } = {
    end: undefined,
    exchanges: [],
    attempts: new Map(),
    draws: [],
    timers: [],
    children: [],
    threadEvents: [],
    toolRuns: [],
    work: [],
    input: [],
    notReplayable: [],
    files: undefined,
    fileChanges: [],
    isDamaged: false,
  };
  const byId = new Map<number, ExchangeRecords>();
  const calls: CallEndRecord[] = [];
  if (files.reduce((sum, file) => sum + statSync(file).size, 0) > MAX_BYTES) {
    throw new OrangeboxError('OBX_RUN_UNREADABLE', `the recording is larger than ${MAX_BYTES} bytes`);
  }
  for (const file of files) {
    const decoder = decodeSegment(readFileSync(file), { crc32 });
    for (const { record } of decoder) sort(record, run, byId, calls);
    if (decoder.end.state !== 'clean') run.isDamaged = true;
  }
  const { start } = run;
  if (!start) {
    throw new OrangeboxError('OBX_RUN_NOT_FOUND', 'these files hold no replayable run', {
      hint: 'record one with: npx orangebox run --replayable -- node app.js',
    });
  }
  const attempts = new Map<number, number>();
  for (const { exchangeIds } of calls) exchangeIds.forEach((id, attempt) => attempts.set(id, attempt));
  run.exchanges = [...byId.values()]
    .filter(({ start: { seq } }) => seq !== undefined)
    .sort((a, b) => (a.start.seq ?? 0) - (b.start.seq ?? 0));
  run.draws.sort((a, b) => a.seq - b.seq);
  run.input.sort((a, b) => a.seq - b.seq);
  if (!isSoundInput(run.input)) {
    run.input = [];
    run.isDamaged = true;
  }
  if (!run.end || calls.some(({ exchangeIds }) => exchangeIds.some((id) => !byId.has(id)))) run.isDamaged = true;
  return { ...run, start, attempts };
}

function sort(
  record: SegmentRecord,
  run: Omit<RecordedRun, 'start'> & { start?: RunStartRecord },
  byId: Map<number, ExchangeRecords>,
  calls: CallEndRecord[],
): void {
  switch (record.type) {
    case 'runStart':
      if (isSoundStart(record)) run.start ??= record;
      else run.isDamaged = true;
      return;
    case 'runEnd':
      run.end ??= record;
      return;
    case 'draws':
      for (const draw of record.draws) keep(run, run.draws, draw, isSoundDraw(draw));
      return;
    case 'timerFired':
      keep(run, run.timers, record, isSoundTimer(record));
      return;
    case 'child':
      keep(run, run.children, record, isSoundChild(record));
      return;
    case 'runFiles':
      run.files ??= [];
      run.files.push({ ...record, files: record.files.filter(isSoundFile) });
      if (run.files.at(-1)?.files.length !== record.files.length) run.isDamaged = true;
      return;
    case 'filesChanged': {
      const changes = record.changes.filter(isSoundChange);
      run.fileChanges.push({ ...record, changes });
      if (changes.length < record.changes.length) run.isDamaged = true;
      return;
    }
    case 'threadEvent':
      run.threadEvents.push(record);
      return;
    case 'workDone':
      for (const work of record.done) run.work.push(work);
      return;
    case 'toolRun':
      keep(run, run.toolRuns, record, isSoundTool(record));
      return;
    case 'input':
      for (const piece of record.pieces) run.input.push(piece);
      return;
    case 'notReplayable':
      run.notReplayable.push(record);
      return;
    case 'callEnd':
      calls.push(record);
      return;
    case 'exchangeStart':
      if (!byId.has(record.exchangeId)) byId.set(record.exchangeId, newExchangeRecords(record));
      return;
    case 'dropped':
      // Bodies or calls that are not there.
      if (record.count > 0) run.isDamaged = true;
      return;
    case 'requestHead':
    case 'requestChunk':
    case 'requestEnd':
    case 'responseHead':
    case 'responseChunk':
    case 'exchangeEnd': {
      const exchange = byId.get(record.exchangeId);
      if (exchange) addToExchange(exchange, record);
      else run.isDamaged = true;
      return;
    }
    default:
  }
}

/** What a program could not have been given is damage. */
function keep<T>(run: { isDamaged: boolean }, list: T[], item: T, isSound: boolean): void {
  if (isSound) list.push(item);
  else run.isDamaged = true;
}
