/**
 * What the wire taps hand to the recorder. Everything here is called synchronously on the program's path, in wire
 * order, and must not throw. Byte arrays are views that the tap does not own: a receiver that keeps bytes past the
 * call copies them (a view may pin a 64 KiB socket buffer).
 */
import type { Ending, HeaderList, JsonObject, Level, RunRecord, ScopeFrame, Stage } from '@orangebox/schema';

/** The causal place of a request, taken when it was created. */
export interface CallContext {
  /** Agent, step and tool scopes around the request, outermost first. */
  scope: readonly ScopeFrame[];
  /** Declared by `session()`. */
  session?: { id: string; userId?: string; metadata?: JsonObject };
  /** Opaque identity of the innermost async place we know; equal requests of one place are retry candidates. */
  place: object | undefined;
  /** The application's active OpenTelemetry context, if an API is registered. */
  otelContext?: OtelContext;
  /** Span ids of the innermost Orangebox scope or tool span; used when no application span is active. */
  parent?: { traceId: string; spanId: string };
  /** The inbound HTTP request being served, with its `traceparent` where it sent a valid one. */
  inbound?: InboundRequest;
}

/** Structural type of an OpenTelemetry context, so that no API package is needed to hold one. */
export interface OtelContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
  deleteValue(key: symbol): OtelContext;
}

/** An inbound HTTP request, one object per request. */
export interface InboundRequest {
  traceId: string;
  /** Span id of the caller (from `traceparent`) or of the request itself (generated). */
  spanId: string;
  sampled: boolean;
  /** Method and path as they came, without the query: `POST /chat/7`. */
  route?: string;
}

/** A recognised request, when it is created. */
export interface WireExchangeStart {
  kind: 'llm' | 'http';
  client: 'undici' | 'http';
  method: string;
  /** Absolute URL as the program gave it; may hold credentials. */
  url: string;
  startUnixNano: bigint;
  context: CallContext;
  callSite?: string;
  /** In a replayable run: its place in the total order of the process. */
  seq?: number;
}

/** How an exchange ended, as the tap saw it. */
export interface WireEnd {
  ending: Ending;
  stage: Stage;
  /** The very error object that the program gets; never kept after the call. */
  error?: unknown;
  trailers?: HeaderList;
  /** In a replayable run: the place of the end in the total order of the process. */
  delivery?: number;
}

/**
 * Receiver of one exchange. `atNano` are monotonic nanoseconds since the exchange started. `delivery` is the
 * process-wide order number. Exactly one `end` closes it; later calls are ignored.
 */
export interface WireExchange {
  requestHead(headers: HeaderList, derivedHeaders: number[], peer?: { address: string; port: number }): void;
  /**
   * Body bytes that are about to go out, or have just gone. `isLast`: the body is whole with them, and they have not left yet:
   * the request must be on record when this returns, since the process may be gone once they have.
   */
  requestChunk(bytes: Uint8Array, atNano: number, isLast?: boolean): void;
  /** `seq`: in a replayable run, its place in the total order of the process. */
  requestEnd(atNano: number, trailers?: HeaderList, seq?: number): void;
  informational(status: number, headers: HeaderList): void;
  responseHead(head: {
    status: number;
    statusText: string;
    httpVersion?: string;
    headers: HeaderList;
    atNano: number;
    delivery: number;
  }): void;
  responseChunk(bytes: Uint8Array, atNano: number, delivery: number): void;
  end(end: WireEnd, atNano: number): void;
  /** The connection that the request goes out on, where the receiver wants to know, and whether the client takes nothing from it now. */
  socket?(socket: object, isPaused: () => boolean): void;
}

/** A tool function's run, as `tool()` of the public API saw it. */
export interface WrappedToolRun {
  name: string;
  context: CallContext;
  startUnixNano: bigint;
  endUnixNano: bigint;
  /** Arguments and result as the function had them; serialised by the recorder, off the program's path. */
  args: unknown[];
  result?: unknown;
  error?: unknown;
  /** Ids that calls made inside the tool already have as parent. */
  trace: { traceId: string; spanId: string; parentSpanId?: string };
}

/** What the taps and the public API write to. */
export interface WireSink {
  open(start: WireExchangeStart): WireExchange;
  tool(run: WrappedToolRun): void;
  /** A record of a replayable run; secrets in it are replaced before it is written. */
  run?(record: RunRecord): void;
  /** Whether a content has a known secret in it. */
  holdsSecret?(bytes: Uint8Array): boolean;
  /** Sets the level for what begins from now on. */
  setLevel?(level: Level): void;
  /** The level for what begins now. */
  level?(): Level;
  /**
   * The trace that a tool run starting at this place belongs to where nothing else says so, e.g. the one of the session
   * that the place is in; asked before the run, so that calls within it have their parent.
   */
  traceOf?(context: CallContext): { traceId: string; spanId?: string } | undefined;
  /**
   * Writes everything known to the segment, synchronously. After a signal the program may go on: what waits for something
   * that can still come, such as the retry of a failed call, goes on waiting. Calls are finished for `timeoutMs` at most.
   */
  flushSync(ending: 'process_exit' | 'signal', timeoutMs?: number): void;
  /** Settles when deferred work is done and what can be sent was sent, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Nothing is ever left to be done at the end, as in a replay. */
  readonly needsNoFlush?: boolean;
}
