/**
 * Records of a segment, format version 1. `docs/segments.md` is the specification; this file is its types.
 *
 * A file starts with {@link SEGMENT_MAGIC} (8 bytes) and a little-endian u32 format version, then holds frames:
 * `u32le payloadBytes | u32le crc32(payload) | payload`, payload = `u8 recordType | content`.
 * JSON records have UTF-8 JSON as content. Chunk records (4 and 7) have `u32le exchangeId | f64le offsetNano |
 * u32le delivery | u32le wireSizeBytes | bytes`.
 */
import type {
  AttemptsBasis,
  Chain,
  Ending,
  ErrorInfo,
  Fidelity,
  HeaderList,
  Json,
  JsonObject,
  ProcessInfo,
  Redaction,
  ScopeFrame,
  SessionRef,
  Stage,
  TimeSpan,
  ToolExecution,
  TraceRef,
} from './snapshot.ts';

/** First eight bytes of every segment file. */
export const SEGMENT_MAGIC = 'OBXSEG\r\n';
/** Version of the segment format that this release writes. Readers read it and all before it. */
export const SEGMENT_VERSION = 1;
/** Bytes before the first frame: magic and version. */
export const SEGMENT_HEADER_BYTES = 12;
/** Bytes before a frame's payload: length and checksum. */
export const FRAME_HEADER_BYTES = 8;
/** Frames above this are damage, not data. Writers split bodies well below it. */
export const FRAME_MAX_BYTES: number = 80 * 1024 * 1024;

/** The record types. Numbers are never reused. Readers pass over unknown ones. */
export const RECORD_TYPE = {
  segmentStart: 1,
  exchangeStart: 2,
  requestHead: 3,
  requestChunk: 4,
  requestEnd: 5,
  responseHead: 6,
  responseChunk: 7,
  exchangeEnd: 8,
  callEnd: 9,
  tool: 10,
  shipped: 11,
  dropped: 12,
  segmentEnd: 13,
  quarantined: 14,
  spansSent: 15,
  forgotten: 16,
  runStart: 17,
  draws: 18,
  timerFired: 19,
  notReplayable: 20,
  child: 21,
  runEnd: 22,
  runFiles: 23,
  filesChanged: 24,
  threadEvent: 25,
  toolRun: 26,
  workDone: 27,
  input: 28,
} as const;

/** Name of a record type. */
export type RecordTypeName = keyof typeof RECORD_TYPE;

/** First record of each file. */
export interface SegmentStartRecord {
  type: 'segmentStart';
  process: ProcessInfo;
  startUnixNano: string;
  /** Number of the file in its series. */
  n: number;
  /** Linux: `/proc/self/ns/pid` as read. Only within one namespace does the process number say whether the writer lives. */
  pidNamespace?: string;
}

/** A recognised request was created. Ids are provisional: {@link CallEndRecord} has the final ones. */
export interface ExchangeStartRecord {
  type: 'exchangeStart';
  /** Number of the exchange in its series of files, from 1. */
  exchangeId: number;
  kind: 'llm' | 'http';
  trace: TraceRef;
  scope: ScopeFrame[];
  session?: { id: string; userId?: string };
  metadata?: JsonObject;
  startUnixNano: string;
  client: 'undici' | 'http';
  method: string;
  /** Absolute URL, credentials replaced. */
  url: string;
  callSite?: string;
  redactions?: Redaction[];
  /** Of a replayable run: its place in the total order of the process. */
  seq?: number;
}

/** The request's header list, when it was handed to the socket. */
export interface RequestHeadRecord {
  type: 'requestHead';
  exchangeId: number;
  headers: HeaderList;
  derivedHeaders?: number[];
  peer?: { address: string; port: number };
  redactions?: Redaction[];
}

/** Body bytes that went out or came in, credentials replaced. `bytes` may be a view into the file's buffer. */
export interface ChunkRecord {
  type: 'requestChunk' | 'responseChunk';
  exchangeId: number;
  offsetNano: number;
  /** Place in the order of deliveries; 0 on request chunks. */
  delivery: number;
  /** Bytes of this chunk on the wire; differs from `bytes.length` where the stored form differs. */
  wireSizeBytes: number;
  bytes: Uint8Array;
}

/** The request was handed over whole. */
export interface RequestEndRecord {
  type: 'requestEnd';
  exchangeId: number;
  offsetNano: string;
  trailers?: HeaderList;
  /** Of a replayable run: its place in the total order of the process. */
  seq?: number;
}

/** The response head came. */
export interface ResponseHeadRecord {
  type: 'responseHead';
  exchangeId: number;
  status: number;
  statusText: string;
  httpVersion?: string;
  headers: HeaderList;
  offsetNano: string;
  delivery: number;
  informational?: { status: number; headers: HeaderList }[];
  redactions?: Redaction[];
}

/** The exchange ended. */
export interface ExchangeEndRecord {
  type: 'exchangeEnd';
  exchangeId: number;
  offsetNano: string;
  ending: Ending;
  stage: Stage;
  error?: ErrorInfo;
  trailers?: HeaderList;
  storedDecoded?: { contentEncoding: string; wireSizeBytes: number };
  truncated?: { request?: true; response?: true };
  /** Redactions in bodies and error. */
  redactions?: Redaction[];
  /** Of a replayable run: the place of the end in the total order of the process. */
  delivery?: number;
}

/** The call ended; its exchanges are named in order. */
export interface CallEndRecord {
  type: 'callEnd';
  kind: 'llm' | 'http';
  exchangeIds: number[];
  attemptsBasis?: AttemptsBasis;
  attemptSpanIds?: string[];
  trace: TraceRef;
  session?: SessionRef;
  chain?: Chain;
  time: TimeSpan;
  error?: ErrorInfo;
  fidelity: Fidelity;
  digest: string;
  /** Absent when nothing is promised. */
  key?: string;
  sizeBytes: number;
  /** What a list shows without opening bodies. */
  summary: CallSummary;
  /** The call's spans as OTLP/JSON `Span` objects: the call's own first, then its attempts'. */
  spans: Json[];
  /** Who exports them; absent where nobody does. Only `orangebox` writes {@link SpansSentRecord}s. */
  spansBy?: SpansBy;
}

/** Facts of a call for lists. */
export interface CallSummary {
  operation?: string;
  provider?: string;
  api?: string;
  model?: string;
  /** HTTP status of the last attempt; absent when none came. */
  status?: number;
  ending: Ending;
  attempts: number;
  stream: boolean;
  inputTokens?: number;
  outputTokens?: number;
  timeToFirstChunkNano?: string;
  toolCalls?: { id?: string; name: string }[];
  finishReasons?: string[];
}

/** A tool execution, whole. */
export interface ToolRecord {
  type: 'tool';
  trace: TraceRef;
  session?: SessionRef;
  scope: ScopeFrame[];
  time: TimeSpan;
  tool: ToolExecution;
  metadata?: JsonObject;
  error?: ErrorInfo;
  fidelity: Fidelity;
  redactions: Redaction[];
  digest: string;
  key?: string;
  sizeBytes: number;
  spans: Json[];
  /** As in {@link CallEndRecord}. */
  spansBy?: SpansBy;
}

/** Who exports the spans of a call or tool execution: the recorder's own provider, or the application's. */
export type SpansBy = 'orangebox' | 'application';

/** A payload was acknowledged by the endpoint. */
export interface ShippedRecord {
  type: 'shipped';
  key: string;
}

/** Calls or bytes that were not kept, counted by reason since the process started. */
export interface DroppedRecord {
  type: 'dropped';
  reason: string;
  count: number;
  message?: string;
}

/** The endpoint refuses this payload for good: it is not sent again unless somebody asks for it. */
export interface QuarantinedRecord {
  type: 'quarantined';
  key: string;
  /** What the endpoint answered, in words. */
  reason: string;
  atUnixNano: string;
}

/** Spans that a trace endpoint acknowledged: those of a call are named by the call's own span id. */
export interface SpansSentRecord {
  type: 'spansSent';
  spanIds: string[];
}

/** Exchanges that readers pass over: their call was not kept (sampling), or stands whole in another series. */
export interface ForgottenRecord {
  type: 'forgotten';
  exchangeIds: number[];
}

/** A replayable run began in this thread. Its records' `seq` and the `delivery` of exchanges are one total order. */
export interface RunStartRecord {
  type: 'runStart';
  runId: string;
  /** Main thread 0; a worker has its own order under the same run id. */
  threadId: number;
  /** The run whose child process this is. */
  parentRunId?: string;
  /** Arguments after the executable, credentials replaced; a path below the working directory is relative to it. */
  argv: string[];
  execArgv: string[];
  /** Base name of the executable. */
  execPath: string;
  /** Keyed hash of the working directory's path. */
  cwdHash: string;
  /** The path itself; recordings of earlier releases have the hash only. */
  cwd?: string;
  /** Signature of run, working directory and command with the same key, which says that the command was recorded there. */
  commandHash?: string;
  node: string;
  platform: string;
  pid: number;
  ppid: number;
  hostname: string;
  /** What standard input was; recordings of earlier releases have nothing of it. */
  stdin?: InputKind;
  /** Values of the variables that are recorded as they are, and keyed hashes of all others. */
  environment: { values: { [name: string]: string }; hashes: { [name: string]: string } };
  /** SHA-256 of the entry file. */
  entryDigest?: string;
  startUnixNano: string;
}

/** An outside value that the program saw. */
export interface DrawnValue {
  seq: number;
  /** The function that gave it: `Date.now`, `Math.random`, `crypto.randomUUID`. */
  source: string;
  /** A number or text as it is, a bigint as decimal text, bytes in base64. */
  value: Json;
  /** Call site `file:line:column`, relative to the working directory where it lies below it. */
  at?: string;
}

/** Outside values, in order. */
export interface DrawsRecord {
  type: 'draws';
  draws: DrawnValue[];
}

/** What a timer is. */
export type TimerKind = 'timeout' | 'interval' | 'immediate';

/** A timer of the program fired. */
export interface TimerFiredRecord {
  type: 'timerFired';
  seq: number;
  /** Number of the timer in the order in which the thread's timers were made, from 0. */
  timerId: number;
  kind: TimerKind;
  /** As asked for; 0 for immediates. */
  delayMs: number;
  at?: string;
}

/** Something that a replay cannot give again. */
export interface NotReplayableRecord {
  type: 'notReplayable';
  what: string;
  count: number;
}

/** What a child process gave, in the order of the process. */
export interface ChildEvent {
  seq: number;
  kind: 'spawn' | 'error' | 'stdout' | 'stderr' | 'stdout_end' | 'stderr_end' | 'exit' | 'close';
  /** Output in base64, credentials replaced. */
  bytes?: string;
  code?: number | null;
  signal?: string | null;
  error?: { code: string; message: string; syscall?: string };
}

/** A child process, whole. */
export interface ChildRecord {
  type: 'child';
  /** Place of the start in the total order of the process. */
  seq: number;
  /** Base name of the executable. */
  file: string;
  argv: string[];
  /** Relative to the working directory of the run; empty for itself. */
  cwd: string;
  /** Waited for by the program in one call. */
  sync: boolean;
  /** 0 where it could not be started. */
  pid: number;
  /** What went into its standard input, in base64, credentials replaced. */
  stdin: string;
  events: ChildEvent[];
}

/** Digest and size of what was written. */
export interface OutputDigest {
  sha256: string;
  sizeBytes: number;
  /** The first 64 KiB of it in base64, credentials replaced: for people, who are shown where another output differs. */
  head?: string;
}

/** What comes of another thread: a message, or how a worker fares. */
export type ThreadEventKind = 'message' | 'online' | 'error' | 'exit';

/** Something came to this thread of a worker that it had made, or of the thread that had made it. The message is not on record. */
export interface ThreadEventRecord {
  type: 'threadEvent';
  seq: number;
  kind: ThreadEventKind;
  /** Number of the worker in the order in which this thread's workers were made, from 0; absent: of the thread that made this one. */
  worker?: number;
}

/** What a standard input is. */
export type InputKind = 'terminal' | 'pipe' | 'file';

/** Something that standard input gave, in the order of the process. */
export interface InputPiece {
  seq: number;
  /** In base64, credentials replaced. */
  bytes: string;
  /** It ended; there are no bytes. */
  isEnd?: true;
  /** The function that waited for it; absent: it came to the stream. */
  by?: 'readSync' | 'readFileSync';
  /** Code of the error with which that function failed. */
  errorCode?: string;
}

/** Standard input, in pieces up to the end of a line. */
export interface InputRecord {
  type: 'input';
  pieces: InputPiece[];
}

/** A file, link or directory below the working directory, as it was at one time. */
export interface FileState {
  /** Relative to the working directory, with `/`. */
  path: string;
  type: 'file' | 'link' | 'directory';
  /** Permission bits. */
  mode: number;
  /** Of a file. */
  sizeBytes?: number;
  /** Of a file's content; absent where it is too large, or where {@link FileState.keyedHash} stands for it. */
  sha256?: string;
  /** Of a file that may hold a secret: hash with the key of the directory of recordings. */
  keyedHash?: string;
  /** Where a link leads, as it is written in it. */
  target?: string;
}

/** The working directory when the run began; one record may hold part of it. */
export interface RunFilesRecord {
  type: 'runFiles';
  files: FileState[];
  /** Signature with the key of the directory of recordings, which says that it was recorded there. */
  signature?: string;
}

/** What became of a file. */
export interface FileChange {
  kind: 'created' | 'changed' | 'deleted';
  /** What it is now; of a deleted one only its path counts. */
  file: FileState;
}

/** Files that are others than when they were looked at last. */
export interface FilesChangedRecord {
  type: 'filesChanged';
  /** Place of the start of the child process that had ended; absent: changes of the program itself. */
  child?: number;
  changes: FileChange[];
  /** As of {@link RunFilesRecord}. */
  signature?: string;
}

/** The program was told that work of the platform, beside the program, was done. */
export interface DoneWork {
  seq: number;
  /** The function that began it: `fs.readFile`, `fs.promises.stat`, `crypto.pbkdf2`; `zlib` for streams that compress. */
  kind: string;
  /** Number of the work in the order in which the thread's of that kind were begun, from 0. */
  id: number;
}

/** Such work, in order. */
export interface WorkDoneRecord {
  type: 'workDone';
  done: DoneWork[];
}

/** A tool function of the program ran, whole. */
export interface ToolRunRecord {
  type: 'toolRun';
  /** Place of its start in the total order of the process. */
  seq: number;
  /** Place at which its outcome came. */
  endSeq: number;
  name: string;
  /** Id of its frame in the scopes of what was asked for within it. */
  frameId: string;
  /** JSON of its arguments, credentials replaced; absent where they are no plain data. */
  args?: string;
  /** Ids of the frames of the tools that it was called by, outermost first; absent where there is none. */
  within?: string[];
  /** It gave a promise. */
  isAsync: boolean;
  /** `other`: what it gave is no plain data, and can't be given again. */
  outcome: 'returned' | 'threw' | 'other';
  /** JSON of what it returned, credentials replaced; absent for `undefined`. */
  value?: string;
  error?: ToolRunError;
  /** What it did that a replay cannot give again. Where there is any, a replay gives its outcome and does not run it. */
  notReplayable?: { what: string; count: number }[];
  /** Of such a run: what else was recorded within it, by number of the timer, and by the place of draws and starts of child processes. */
  timers?: number[];
  draws?: number[];
  children?: number[];
}

/** An error that a tool function threw. */
export interface ToolRunError {
  name: string;
  message: string;
  /** JSON of its other own members. */
  members?: string;
  /** JSON of those that are not enumerable, such as `cause`. */
  hidden?: string;
}

/** The run ended in order in this thread. */
export interface RunEndRecord {
  type: 'runEnd';
  seq: number;
  /** Of a run that a signal ended: 128 and its number. */
  exitCode: number;
  /** It ended the process, which had no listener for it. */
  signal?: string;
  stdout: OutputDigest;
  stderr: OutputDigest;
}

/** A record of a replayable run. */
export type RunRecord =
  | RunStartRecord
  | DrawsRecord
  | TimerFiredRecord
  | NotReplayableRecord
  | ChildRecord
  | RunEndRecord
  | RunFilesRecord
  | FilesChangedRecord
  | ThreadEventRecord
  | ToolRunRecord
  | WorkDoneRecord
  | InputRecord;

const RUN_RECORD_TYPES: ReadonlySet<RecordTypeName | undefined> = new Set<RunRecord['type']>([
  'runStart',
  'draws',
  'timerFired',
  'notReplayable',
  'child',
  'runEnd',
  'runFiles',
  'filesChanged',
  'threadEvent',
  'toolRun',
  'workDone',
  'input',
]);

/** Whether a record, or what is known of one by its type, is of a replayable run rather than of a call. */
export function isRunRecord<T extends { type: RecordTypeName | undefined }>(
  record: T,
): record is T & { type: RunRecord['type'] } {
  return RUN_RECORD_TYPES.has(record.type);
}

/** The file was closed in order: rotated, or the process ended. */
export interface SegmentEndRecord {
  type: 'segmentEnd';
  endUnixNano: string;
  /** The series goes on in the next file. */
  rotated: boolean;
}

/** Any record of a segment. */
export type SegmentRecord =
  | SegmentStartRecord
  | ExchangeStartRecord
  | RequestHeadRecord
  | ChunkRecord
  | RequestEndRecord
  | ResponseHeadRecord
  | ExchangeEndRecord
  | CallEndRecord
  | ToolRecord
  | ShippedRecord
  | DroppedRecord
  | SegmentEndRecord
  | QuarantinedRecord
  | SpansSentRecord
  | ForgottenRecord
  | RunRecord;
