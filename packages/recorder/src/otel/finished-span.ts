/** What the private provider is handed: a span that is over, with nothing left to decide. */
import type { TraceRef } from '@orangebox/schema';
import type { PayloadEvent } from '../payload-on-span.ts';
import type { SpanAttributes, SpanStatus } from '../spans.ts';

/** A finished span. */
export interface FinishedSpan {
  trace: TraceRef;
  name: string;
  kind: 'client' | 'internal';
  startUnixNano: bigint;
  endUnixNano: bigint;
  attributes: SpanAttributes;
  status: SpanStatus;
  event?: PayloadEvent;
}

/** Takes finished spans to their exporter. */
export interface SpanSink {
  add(span: FinishedSpan): void;
  /** Settles when everything added was exported or given up, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Spans with payloads wait for their export, many or large ones. */
  isCongested?(): boolean;
}

/** Learns which calls' and tools' own spans an endpoint acknowledged. */
export type SpansSent = (spanIds: readonly string[]) => void;

/** Learns what became of spans with payloads, by key. */
export type PayloadsExported = (keys: readonly string[], isAccepted: boolean) => void;
