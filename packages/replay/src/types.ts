/** The programmatic surface of replay: what the CLI is built from. */
import type { Message, Snapshot, ToolCall, ToolExecution } from '@orangebox/schema';
import type { SnapshotStore, StoredEntry, TraceSource } from '@orangebox/store';

/** What can be replayed: text that a person typed, a list entry, or a snapshot at hand. */
export type Reference = string | StoredEntry | Snapshot;

/** Where references are looked up. A snapshot at hand needs neither. */
export interface LookupOptions {
  store?: SnapshotStore;
  source?: TraceSource;
  /** Base of relative file names, and where SDKs are looked for; the working directory by default. */
  cwd?: string;
}

/** A recorded call as objects that a program can use. */
export interface Rehydrated {
  /** The document, its views made anew from the bytes. */
  snapshot: Snapshot;
  /** The request as sent; of the last attempt unless another is named. Every call gives a fresh object. */
  request(attempt?: number): Request;
  /** The response, streaming in the recorded chunks; `OBX_REPLAY_NO_RESPONSE` when none came. */
  response(attempt?: number): Response;
  messages: Message[];
  toolCalls: ToolCall[];
  toolExecutions: ToolExecution[];
  /** What the next call of the session added after this answer. */
  nextMessages: Message[];
}

/** Outcome of a recorded replay. */
export interface RecordedReplay {
  /** What gave the answer: the SDK found from the working directory, or plain `fetch`. */
  via: { kind: 'sdk'; name: string; version: string } | { kind: 'fetch'; reason: string };
  /** What the client returned: the SDK's object, or the parsed body. Absent when it threw. */
  result?: unknown;
  /** Events of a streamed answer as the client yielded them. */
  events?: unknown[];
  /** What the client threw: the recorded failure, reproduced. */
  error?: unknown;
  /** Body bytes given to the client, per attempt. */
  served: { attempt: number; status?: number; sizeBytes: number; chunks: number }[];
  /** The request that the client sent equalled the recorded one in its bytes, or in its canonical form. */
  requestMatch: 'exact' | 'canonical' | 'different';
  /** Sockets that something tried to open during the replay; each was refused. */
  refusedSockets: number;
}

/** Options of {@link RecordedReplay}. */
export interface RecordedReplayOptions extends LookupOptions {
  /** `sdk` insists on one (`OBX_REPLAY_NO_SDK`), `fetch` never uses one; `auto` by default. */
  via?: 'auto' | 'sdk' | 'fetch';
  /** Called with each event as the client yields it. */
  onEvent?: (event: unknown) => void;
}

/** A loopback endpoint that gives recorded answers. */
export interface RecordedServer {
  /** Base URL, e.g. `http://127.0.0.1:49152`; append the recorded path. */
  url: string;
  /** Base URL as an OpenAI client wants it (recorded path up to and with `/v1`). */
  baseUrl: string;
  port: number;
  /** Counts so far. */
  stats(): { served: number; remaining: number; misses: number };
  close(): Promise<void>;
}

/** Options of `serveRecorded`. */
export interface ServeOptions extends LookupOptions {
  /** Port to listen on; a free one by default. Always on 127.0.0.1. */
  port?: number;
  onRequest?: (event: ServeEvent) => void;
}

/** A request that the endpoint answered or refused. */
export type ServeEvent =
  | { kind: 'served'; rung: 'exact' | 'canonical'; method: string; path: string; spanId: string; attempt: number }
  | { kind: 'miss'; method: string; path: string; reason: string };

/** Options of `resend`. */
export interface ResendOptions extends LookupOptions {
  /** How often; 1 by default. */
  n?: number;
  /** Sends there instead of to the recorded host, with the provider's credentials; scheme, host, port and leading path. */
  baseUrl?: string;
  /** Where credentials are read; `process.env` by default. */
  env?: { readonly [name: string]: string | undefined };
  /** What these match is replaced in what is kept of an answer, besides the environment's secrets. */
  redactPatterns?: readonly RegExp[];
  /** Allows requests that change state on the server. */
  allowEffects?: boolean;
  /** Asked before anything is sent; false stops with `OBX_RESEND_DECLINED`. Nothing is asked when it is absent. */
  confirm?: (plan: ResendPlan) => boolean | Promise<boolean>;
  onResult?: (result: ResentCall, index: number) => void;
  signal?: AbortSignal;
  /** Gives up on an answer after this many milliseconds; 10 minutes by default. */
  timeoutMs?: number;
}

/** What a resend is about to do. */
export interface ResendPlan {
  method: string;
  url: string;
  bodySizeBytes: number;
  model?: string;
  n: number;
  /** Environment variable whose value goes along; absent when none does. */
  credential?: { header: string; variable: string };
  /** Header fields that get a new value or are left out, lower case. */
  renewed: string[];
  dropped: string[];
  /** Effects that were found and allowed. */
  effects: string[];
}

/** One resent call. */
export interface ResentCall {
  /** The new call as a snapshot, credentials replaced. */
  snapshot: Snapshot;
}

/** Outcome of `resend`. */
export interface ResendResult {
  plan: ResendPlan;
  original: Snapshot;
  calls: ResentCall[];
}
