/** The store interface: what every place that keeps snapshots can do. One contract suite runs on all of them. */
import type {
  CallSummary,
  Chain,
  Fidelity,
  ScopeFrame,
  SessionRef,
  Snapshot,
  SnapshotKind,
  TimeSpan,
  ToolExecution,
  TraceRef,
} from '@orangebox/schema';

/** What became of an entry's bytes. */
export type StoredStatus =
  /** The snapshot can be loaded. */
  | 'stored'
  /** A span promises it; whether it has arrived in the store is known when it is loaded. */
  | 'promised'
  /** The call is running in a live process; a load gives what is on record so far. */
  | 'open'
  /** A key was promised, but the bytes are gone (bounds, damage, deletion). */
  | 'lost'
  /** Nothing was promised: bodies were not kept (`metadata` level, no storage). */
  | 'not_kept';

/** One call, tool execution or HTTP exchange as a list shows it. */
export interface StoredEntry {
  /** Shortest prefix of the span id, six digits or more, that is unique in the store. */
  ref: string;
  /** Absent while a call is open, and when none was promised (`not_kept`). A crashed call has that of its partial snapshot. */
  key?: string;
  kind: SnapshotKind;
  trace: TraceRef;
  session?: SessionRef;
  scope: ScopeFrame[];
  /** An open call ends at its start. */
  time: TimeSpan;
  /** `llm` and `http` entries. */
  summary?: CallSummary;
  /** `tool` entries. */
  tool?: Pick<ToolExecution, 'name' | 'callId' | 'basis' | 'askedBy'> & { failed: boolean };
  error?: { type: string; message: string };
  fidelity: Fidelity;
  status: StoredStatus;
  /** Bytes of the snapshot's JSON, where known. */
  sizeBytes?: number;
  digest?: string;
  /** Hashes of the conversation before and after the call, for joining sessions across processes. */
  chain?: Chain;
  /** Span ids of the call's attempts, where it has several. */
  attemptSpanIds?: string[];
  /** Who recorded it. */
  process?: { pid: number; threadId: number; host: string; serviceName: string };
  /** Method and URL of the call's first request, where they are known without opening the snapshot. */
  request?: { method: string; url: string };
  /** The payload was acknowledged by the endpoint. */
  shipped?: true;
  /** Why the endpoint refused the payload for good: it is sent again only on request. */
  quarantined?: string;
  /** Its process died, and no recovery has completed it yet. */
  unrecovered?: true;
  /** Where the entry was read, for messages: a file name or an object path. */
  location: string;
}

/** Which entries a listing or deletion takes; all given conditions hold. */
export interface ListFilter {
  /** Only entries that started at or after this Unix time in milliseconds. */
  sinceUnixMs?: number;
  /** Only entries that started before this Unix time in milliseconds. */
  untilUnixMs?: number;
  kinds?: SnapshotKind[];
  /** Part of the model's name, case-insensitive. */
  model?: string;
  /** HTTP status (`429`), class (`4xx`), ending (`cut`), `error`, `ok`, or a {@link StoredStatus}. */
  status?: string;
  /** Name of a tool that was asked for or run. */
  tool?: string;
  /** Text that stands in the bodies, case-insensitive; opens every snapshot that the other conditions leave. */
  text?: string;
  sessionId?: string;
  userId?: string;
  traceId?: string;
  spanId?: string;
  /** First digits of the span id. */
  spanIdPrefix?: string;
  /** Name of an agent, step or tool scope. */
  scope?: string;
  keys?: string[];
  /** False leaves the calls of `orangebox doctor --canary` out. */
  canaries?: false;
  /** `newest` first by default. */
  order?: 'newest' | 'oldest';
  /** Stop after this many. */
  limit?: number;
}

/** What a deletion did. */
export interface DeleteResult {
  /** Entries whose bytes are gone now. */
  deleted: number;
  /** Entries that matched but stand in a file that a live process writes. */
  kept: StoredEntry[];
  /** Bytes freed on disk. */
  freedBytes: number;
}

/** A place that keeps snapshots. Methods reject with `OrangeboxError`. */
export interface SnapshotStore {
  readonly kind: 'segments' | 'directory' | 'memory' | 'bucket' | 'source';
  /** Where it is, for messages. */
  readonly location: string;
  /** The snapshot of a key, digest verified; undefined when the store has none. */
  get(key: string): Promise<Snapshot | undefined>;
  /** The snapshot of an entry of this store; also of entries without a key. `OBX_SNAPSHOT_LOST` when its bytes are gone. */
  load(entry: StoredEntry): Promise<Snapshot>;
  /** Keeps a snapshot and gives its key. A second time does nothing; a differing valid one is left alone. */
  put(snapshot: Snapshot): Promise<string>;
  /** Entries, newest first unless the filter says otherwise. */
  list(filter?: ListFilter): AsyncIterable<StoredEntry>;
  /** Deletes entries by key or filter; an empty filter deletes nothing. */
  delete(selection: string[] | ListFilter): Promise<DeleteResult>;
  /** What the store noticed while reading: torn tails, damaged frames, files of a newer version. */
  problems(): Promise<StoreProblem[]>;
  close(): Promise<void>;
}

/** Something wrong with a stored file that did not stop the reading of others. */
export interface StoreProblem {
  code: `OBX_${string}`;
  message: string;
  hint?: string;
  location: string;
}
