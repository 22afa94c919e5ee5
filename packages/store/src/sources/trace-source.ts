/** What the query API of a trace backend is asked for, and what comes back: spans, whichever backend they come from. */

/** An attribute value as OTLP has it; integers beyond the safe range as decimal strings. */
export type SpanAttribute = string | number | boolean | SpanAttribute[];

/** A span as a backend has it. */
export interface SourceSpan {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Name of the instrumentation scope, where the backend tells. */
  scope?: string;
  /** Jaeger's legacy API has microseconds. */
  startUnixNano: string;
  endUnixNano: string;
  status: 'unset' | 'ok' | 'error';
  statusMessage?: string;
  attributes: Readonly<Record<string, SpanAttribute>>;
  resource: Readonly<Record<string, SpanAttribute>>;
  /** Events with their attributes: `doctor --canary` looks for payloads in them. */
  events: readonly { name: string; attributes: Readonly<Record<string, SpanAttribute>> }[];
}

/** Which spans a search gives. All given conditions hold. */
export interface SpanQuery {
  sinceUnixMs: number;
  /** Now, by default. */
  untilUnixMs?: number;
  /** Equal attribute values, by attribute name. */
  attributes?: Readonly<Record<string, string>>;
  serviceName?: string;
  /**
   * Most traces to ask for, and then no more. By default 1,000 per request, and a window that holds more is asked for
   * in parts.
   */
  traceLimit?: number;
}

/** What a search gave. */
export interface SpanSearch {
  spans: SourceSpan[];
  /** There are more: a limit of the backend, of the query or of this program, its time among them, cut it. */
  truncated: boolean;
  /** Asking for a shorter time would be cut in the same way. */
  isFinal?: boolean;
}

/** Where a trace backend is, and how it is asked. */
export interface SourceOptions {
  /** Base URL of the query API, base path included. User and password in it become basic authentication. */
  url: string;
  /** Sent with each request, to this origin only. */
  headers?: Readonly<Record<string, string>>;
  /** The platform's by default. */
  fetch?: typeof fetch;
  /** Milliseconds for one request with its answer (default 30,000). */
  timeoutMs?: number;
  /** Milliseconds for a whole search, after which it gives what it has (default 60,000). */
  searchMs?: number;
  /** Bytes of one answer (default 256 MiB). */
  maxBytes?: number;
}

/** A trace backend. Methods reject with `OrangeboxError` `OBX_SOURCE_UNREACHABLE`, `OBX_SOURCE_DENIED`, `OBX_SOURCE_ANSWER`. */
export interface TraceSource {
  readonly kind: 'jaeger' | 'tempo' | 'local';
  /** Base URL or directory, for messages. Never holds credentials. */
  readonly location: string;
  /** All spans of a trace; empty when the backend does not know it. */
  trace(traceId: string): Promise<SourceSpan[]>;
  /** Spans that Orangebox made (they have `orangebox.*` attributes) of the traces that match; `truncated` when the backend's limit cut it. */
  search(query: SpanQuery): Promise<SpanSearch>;
}
