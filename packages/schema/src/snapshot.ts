/**
 * The snapshot document: the immutable record of one call, tool execution or other HTTP exchange.
 * Integers that may exceed 2^53 and all nanoseconds are decimal strings.
 */

/** Value of {@link Snapshot.schema} for documents of this version. */
export const SNAPSHOT_SCHEMA = 'orangebox.snapshot/1';

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export interface JsonObject {
  [key: string]: Json;
}

/** Header fields in wire order, duplicates kept, names as sent: `[name, value]` pairs. */
export type HeaderList = [name: string, value: string][];

/** What a snapshot records. */
export type SnapshotKind = 'llm' | 'tool' | 'http' | 'state';

/** Where the snapshot's span stands; ids are lower-case hex (32 and 16 digits). */
export interface TraceRef {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  /** False when a sampler dropped the span; the snapshot is recorded all the same. */
  sampled: boolean;
}

/** How a call came to its session. */
export type SessionBasis = 'declared' | 'inferred' | 'ambiguous';

/** The agent conversation a call belongs to. */
export interface SessionRef {
  id: string;
  /** Order of the call among the calls of the session in its process, from 0. */
  seq: number;
  basis: SessionBasis;
  userId?: string;
}

/** Causal place of a call, outermost first. */
export interface ScopeFrame {
  kind: 'agent' | 'step' | 'tool';
  name: string;
  /** Process-unique id of this entry of the scope, so that parallel branches of one name stay apart. */
  id: string;
}

/** Start and end as nanoseconds since the Unix epoch, decimal strings. */
export interface TimeSpan {
  startUnixNano: string;
  endUnixNano: string;
}

/** Bytes of a body, in one of several stored forms. `sizeBytes` counts the resolved bytes. */
export type Body =
  | { form: 'empty'; sizeBytes: 0 }
  | { form: 'text'; sizeBytes: number; text: string }
  | { form: 'base64'; sizeBytes: number; base64: string }
  /** The bytes are prefix and suffix of an earlier body, with `middle` between them. */
  | {
      form: 'delta';
      sizeBytes: number;
      baseSha256: string;
      prefixBytes: number;
      suffixBytes: number;
      middle: Body;
    };

/** One delivery of body bytes. Sizes are of the stored bytes and add up to the body's `sizeBytes`. */
export interface Chunk {
  sizeBytes: number;
  /** Monotonic nanoseconds since the exchange started. */
  offsetNano: string;
  /** Place in the process-wide order of deliveries; absent for request chunks. */
  delivery?: number;
  /** Size on the wire where the stored bytes are another form of it (decoded, redacted). */
  wireSizeBytes?: number;
}

/** How an exchange ended. */
export type Ending =
  | 'complete'
  /** Connection refused, host unknown, TLS failure: nothing was exchanged. */
  | 'connect_failed'
  /** The connection was reset or closed before the response head. */
  | 'reset'
  /** The connection ended within the response body. */
  | 'cut'
  | 'timeout'
  | 'caller_abort'
  /** The program gave up reading (`break`, `cancel()`), or never read while the wire was paused. */
  | 'caller_stopped_reading'
  | 'process_exit'
  /** No end on record: the process died. */
  | 'process_died'
  /** Switched to another protocol (101, CONNECT); bytes after it are not recorded. */
  | 'upgraded'
  | 'error';

/** How far an exchange had come when it ended. */
export type Stage = 'connect' | 'request' | 'response_head' | 'response_body' | 'done';

/** An error as the program saw it, secrets replaced. */
export interface ErrorInfo {
  stage: Stage;
  /** Class or `name` of the error, or the HTTP status for an error status. */
  type: string;
  code?: string;
  message: string;
  stack?: string;
}

/** A message head and body that went out. */
export interface ExchangeRequest {
  method: string;
  /** Absolute URL, credentials replaced. */
  url: string;
  headers: HeaderList;
  /** Indexes into `headers` that were not seen but derived from what the client adds itself. */
  derivedHeaders?: number[];
  body: Body;
  chunks: Chunk[];
  /** The whole request was handed to the socket. */
  sent: boolean;
  trailers?: HeaderList;
}

/** A message head and body that came in. */
export interface ExchangeResponse {
  status: number;
  statusText: string;
  httpVersion?: string;
  headers: HeaderList;
  /** Monotonic nanoseconds since the exchange started, of the response head. */
  headOffsetNano: string;
  headDelivery?: number;
  /** Responses of status 1xx that came before. */
  informational?: { status: number; headers: HeaderList }[];
  body: Body;
  chunks: Chunk[];
  /** Set when the wire's bytes were content-encoded but are stored decoded because a secret was replaced in them. */
  storedDecoded?: { contentEncoding: string; wireSizeBytes: number };
  trailers?: HeaderList;
}

/** One HTTP request and what came back. */
export interface Exchange {
  /** Attempt within the call, from 0; redirects count as attempts. */
  attempt: number;
  /** Span id of the attempt where the call has several. */
  spanId?: string;
  startUnixNano: string;
  endOffsetNano: string;
  client: 'undici' | 'http';
  peer?: { address: string; port: number };
  request: ExchangeRequest;
  response?: ExchangeResponse;
  ending: Ending;
  stage: Stage;
  error?: ErrorInfo;
  /** Reasons why recorded bytes fall short of the wire's. */
  truncated?: { request?: true; response?: true };
}

/** A replaced secret: where it stood, what token stands there now, how often. */
export interface Redaction {
  /** `header:<name>`, `url`, `request.body`, `response.status`, `response.body`, `error`, `metadata`. */
  where: string;
  /** The token, `{{secret:<name>}}`. Equal secrets have equal tokens within a process. */
  token: string;
  count: number;
}

/** Why a snapshot is not exact. */
export type FidelityReason =
  | 'body_limit'
  | 'memory_limit'
  | 'process_died'
  | 'content_redacted'
  | 'no_storage'
  | 'not_sampled';

/** Whether the recorded bytes are all bytes of the wire; replaced credentials alone leave it exact. */
export type Fidelity = { level: 'exact' } | { level: 'partial'; reason: FidelityReason };

/** Derived: what the call was, by the protocol adapter. */
export interface CallView {
  /** `gen_ai.operation.name`: `chat`, `embeddings`, `text_completion`, `generate_content`, ... */
  operation: string;
  /** `gen_ai.provider.name`. */
  provider: string;
  /** Adapter that made the view, e.g. `openai.chat`, `openai.responses`, `generic`. */
  api: string;
  requestModel?: string;
  stream: boolean;
  parameters: JsonObject;
}

/** One message of a conversation, in one shape for all protocols. */
export interface Message {
  role: string;
  /** Text of the message; absent when it has none. */
  text?: string;
  reasoning?: string;
  refusal?: string;
  toolCalls?: ToolCall[];
  /** Set on a message that carries a tool's result. */
  toolResult?: ToolResult;
  /** Parts that are not text: images, audio, files; summarised by type and size. */
  attachments?: { type: string; sizeBytes?: number; name?: string }[];
  /** The provider's own object, whole, where anything in it is not shown above. */
  raw?: Json;
}

/** A tool call that the model asked for. */
export interface ToolCall {
  id?: string;
  name: string;
  /** Arguments as the model wrote them (JSON text for functions, free text for custom tools). */
  arguments: string;
  /** `function`, `custom`, or the provider's type of a server-side tool. */
  type?: string;
}

/** A tool's result as it was sent back to the model. */
export interface ToolResult {
  callId?: string;
  name?: string;
  /** Text of the result; structured results as JSON text. */
  content: string;
  isError?: boolean;
}

/** Derived view of the request. */
export interface RequestView {
  messages: Message[];
  tools?: Json[];
  /** `previous_response_id` or `conversation` of the responses API: state that the provider keeps. */
  previousResponseId?: string;
  conversationId?: string;
  /** Fields of the request body that the adapter does not know. */
  unknown?: JsonObject;
}

/** Token counts under the names of the semantic conventions. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadInputTokens?: number;
  cacheCreationInputTokens?: number;
  reasoningTokens?: number;
  totalTokens?: number;
}

/** Derived view of the response. */
export interface ResponseView {
  id?: string;
  model?: string;
  choices: { index: number; finishReason?: string; message: Message }[];
  toolCalls: ToolCall[];
  finishReasons: string[];
  usage?: Usage;
  serviceTier?: string;
  systemFingerprint?: string;
  embeddings?: { count: number; dimensions?: number };
  /** Error object of the answer or of a frame in the stream. */
  error?: { type?: string; code?: string; message: string };
  /** The final object: the body of a plain answer, or the stream assembled as the official SDK does it. */
  final?: Json;
  /** Fields the adapter does not know. */
  unknown?: JsonObject;
}

/** Hashes (hex SHA-256) of the conversation a call continued and of the one it left. */
export interface Chain {
  before?: string;
  after?: string;
}

/** One run of a tool the model asked for. */
export interface ToolExecution {
  basis: 'wrapped' | 'inferred';
  name: string;
  callId?: string;
  /** JSON text of the arguments (wrapped: of the function's arguments; inferred: as the model wrote them). */
  arguments?: string;
  /** JSON text or text of the result. */
  result?: string;
  error?: ErrorInfo;
  /** Span id of the call that asked for it. */
  askedBy?: string;
}

/** The process that recorded. */
export interface ProcessInfo {
  pid: number;
  threadId: number;
  host: string;
  node: string;
  orangebox: string;
  serviceName: string;
  /** OpenTelemetry resource attributes of the service (`OTEL_RESOURCE_ATTRIBUTES`). */
  resource?: { [key: string]: string };
  packages?: { [name: string]: string };
  gitRevision?: string;
}

/** How attempts were joined to one call, weakest evidence last. */
export type AttemptsBasis = 'retry_header' | 'redirect' | 'inferred';

/** The snapshot document, version 1. */
export interface Snapshot {
  schema: typeof SNAPSHOT_SCHEMA;
  /** Equal to `trace.spanId`. */
  id: string;
  kind: SnapshotKind;
  trace: TraceRef;
  session?: SessionRef;
  scope: ScopeFrame[];
  time: TimeSpan;
  /** `llm` and `http` snapshots: the wire, the truth of the document. */
  exchanges: Exchange[];
  /** How attempts were joined when there are several. */
  attemptsBasis?: AttemptsBasis;
  /** `tool` snapshots. */
  tool?: ToolExecution;
  error?: ErrorInfo;
  callSite?: string;
  process: ProcessInfo;
  metadata?: JsonObject;
  fidelity: Fidelity;
  redactions: Redaction[];
  /** Hex SHA-256, see `docs/snapshot.md`. */
  digest: string;

  /* Derived, not covered by the digest. */
  call?: CallView;
  request?: RequestView;
  response?: ResponseView;
  chain?: Chain;
  toolExecutions?: ToolExecution[];
  nextMessages?: Message[];
}

/** Members of a snapshot that are derived and not covered by its digest (besides `digest` itself). */
export const UNDIGESTED_MEMBERS = [
  'digest',
  'call',
  'request',
  'response',
  'chain',
  'toolExecutions',
  'nextMessages',
] as const;
