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
  /** Most traces to ask for (default 1,000 per service). */
  traceLimit?: number;
}

/** A trace backend. Methods reject with `OrangeboxError` `OBX_SOURCE_UNREACHABLE`, `OBX_SOURCE_DENIED`, `OBX_SOURCE_ANSWER`. */
export interface TraceSource {
  readonly kind: 'jaeger' | 'tempo' | 'local';
  /** Base URL or directory, for messages. Never holds credentials. */
  readonly location: string;
  /** All spans of a trace; empty when the backend does not know it. */
  trace(traceId: string): Promise<SourceSpan[]>;
  /** Spans that Orangebox made (they have `orangebox.*` attributes) of the traces that match; `truncated` when the backend's limit cut it. */
  search(query: SpanQuery): Promise<{ spans: SourceSpan[]; truncated: boolean }>;
}
