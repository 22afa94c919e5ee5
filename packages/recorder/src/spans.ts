/**
 * The seam between the recorder's core and whatever makes spans. The core gathers facts and writes its own span
 * records into the segment; an implementation of {@link CallSpans} gives ids and may drive an OpenTelemetry provider.
 *
 * Order per call: `start` (synchronously, when the first request goes out; its time is given) -> `settle` (when the call has ended; all ids
 * are final afterwards, because the digest covers them) -> `end` (once the digest is known). Likewise for tools:
 * `startTool` -> `endTool`. Nothing here may throw.
 *
 * The OpenTelemetry implementation is `createCallSpans(config: RecorderConfig, reporter: Reporter): CallSpans` in
 * `otel/call-spans.ts`. It is loaded with the core, so it is light and loads the SDK itself, later.
 */
import { randomFillSync } from 'node:crypto';
import type { ErrorInfo, SnapshotKind, SpansBy, ToolExecution, TraceRef } from '@orangebox/schema';
import { SPAN_KEY } from './otel/api-shapes.ts';
import type { PayloadEvent, PayloadRoom } from './payload-on-span.ts';
import type { CallContext } from './wire-events.ts';

/** Value of a span attribute. */
export type AttributeValue = string | number | boolean | string[];

/** Attributes of a span, `undefined` never among the values. */
export interface SpanAttributes {
  [name: string]: AttributeValue;
}

/** Outcome of a span; `unset` unless it failed. */
export interface SpanStatus {
  code: 'unset' | 'error';
  message?: string;
}

/** What is known of a call when its first request body is known (only then attempts can be told from new calls). */
export interface CallSpanStart {
  kind: Extract<SnapshotKind, 'llm' | 'http'>;
  context: CallContext;
  /** Ids that stand in the segment already, made when the request was created; to be kept where possible. */
  provisional: TraceRef;
  startUnixNano: bigint;
  /** Provisional name; the method, since the model is not known yet. */
  name: string;
  /** `server.address`, `server.port`, `http.request.method`, and placeholders of all `orangebox.*` attributes. */
  attributes: SpanAttributes;
}

/** A span that has been started or will be. Made by an implementation, opaque to the core but for these members. */
export interface SpanHandle {
  /** Ids so far; provisional until {@link settled}. */
  readonly trace: TraceRef;
  /** A parent was known at the start, so the ids will not change. */
  readonly settled: boolean;
  /**
   * The active span is another instrumentation's gen_ai span of this very call: ours is an INTERNAL child without
   * usage, so that nothing is counted twice.
   */
  readonly nested: boolean;
}

/** One attempt of a call that has several. */
export interface AttemptSpanStart {
  startUnixNano: bigint;
  name: string;
}

/** One attempt's end. */
export interface AttemptSpanFacts {
  spanId: string;
  name: string;
  startUnixNano: bigint;
  endUnixNano: bigint;
  attributes: SpanAttributes;
  status: SpanStatus;
}

/** Everything a call's span ends with. */
export interface CallSpanFacts {
  /** `chat {model}`, `embeddings {model}`, ...; `{method}` for other HTTP. */
  name: string;
  startUnixNano: bigint;
  endUnixNano: bigint;
  /** All attributes, `orangebox.*` included, message content only where the configuration asks for it. */
  attributes: SpanAttributes;
  status: SpanStatus;
  error?: ErrorInfo;
  /** The snapshot itself, where it rides on its span. */
  event?: PayloadEvent;
  /** Empty unless the call has several; in the order that was given to `settle`. */
  attempts: AttemptSpanFacts[];
}

/** A tool execution whose span is made after the fact. */
export interface ToolSpanStart {
  /** `execute_tool {name}`. */
  name: string;
  basis: ToolExecution['basis'];
  startUnixNano: bigint;
  endUnixNano: bigint;
  /** Wrapped: ids that calls made inside the tool already have as parent; they must be kept. */
  ids?: { traceId: string; spanId: string; parentSpanId?: string };
  /** Inferred: the call that asked for it. */
  parent?: TraceRef;
  context?: CallContext;
}

/** Everything a tool's span ends with. */
export interface ToolSpanFacts {
  name: string;
  startUnixNano: bigint;
  endUnixNano: bigint;
  attributes: SpanAttributes;
  status: SpanStatus;
  error?: ErrorInfo;
  /** The snapshot itself, where it rides on its span. */
  event?: PayloadEvent;
}

/** Ids after {@link CallSpans.settle}. */
export interface SettledSpans {
  trace: TraceRef;
  /** One id per attempt given, in order. */
  attemptSpanIds: string[];
}

/** Makes the spans of calls and tools. */
export interface CallSpans {
  /**
   * Chooses the parent (active application span, else innermost Orangebox scope, else inbound request). Without any,
   * the handle is not settled and its trace is provisional. Runs on the program's path: must be cheap.
   */
  start(call: CallSpanStart): SpanHandle;
  /**
   * Makes the ids final. `parent` is the first call of the session, given only where the handle was not settled and
   * there is one; otherwise an unsettled call becomes the root of its trace. `attempts` is empty unless several.
   */
  settle(handle: SpanHandle, options: { parent?: TraceRef; attempts: AttemptSpanStart[] }): SettledSpans;
  /** Ends the spans with their final facts; exactly once per handle. */
  end(handle: SpanHandle, facts: CallSpanFacts): void;
  startTool(tool: ToolSpanStart): SpanHandle;
  endTool(handle: SpanHandle, facts: ToolSpanFacts): void;
  /** Settles when ended spans were exported, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /**
   * `drain` is called, synchronously, before the application's provider is flushed or shut down: a program that does so
   * right after its last call must find our spans ended. It settles and ends all calls whose wire has ended.
   */
  onBeforeShutdown?(drain: () => void): void;
  /** The application's provider may stop without `drain` being called: a span that is ended later may be lost. */
  mayStopUnseen?(): boolean;
  /** How much of a payload the span can carry; undefined when it goes nowhere, as one that the sampler dropped. */
  payloadRoom?(handle: SpanHandle): PayloadRoom | undefined;
  /** Spans with payloads are made faster than they are exported. */
  isCongested?(): boolean;
  /** `told` learns what became of spans with payloads, by key; of an application's exporter nobody does. */
  onPayloadsExported?(told: (keys: readonly string[], isAccepted: boolean) => void): void;
  /** Who exports the spans of a settled handle to a trace endpoint; undefined where nobody does. */
  exportedBy?(handle: SpanHandle): SpansBy | undefined;
  /** `told` learns which calls' and tools' own spans our exporter's endpoint acknowledged, by span id. */
  onSpansSent?(told: (spanIds: readonly string[]) => void): void;
}

/** Who exports a span, as records say it. */
export function spansByOf(spans: CallSpans, handle: SpanHandle): { spansBy?: SpansBy } {
  const spansBy = spans.exportedBy?.(handle);
  return spansBy === undefined ? {} : { spansBy };
}

/** Filled in one go; `Math.random` is the program's own and must not be advanced by us. */
const pool: Buffer = Buffer.allocUnsafeSlow(2048);
let poolOffset = pool.length;

/** Random lower-case hex of `bytes` bytes (at most 32), never all zero. */
export function randomHex(bytes: number): string {
  if (poolOffset + bytes > pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const hex = pool.toString('hex', poolOffset, poolOffset + bytes);
  poolOffset += bytes;
  return /^0+$/.test(hex) ? randomHex(bytes) : hex;
}

/** The span context that a call takes as parent, or undefined when there is none. */
export function parentOf(context: CallContext): { traceId: string; spanId: string; sampled: boolean } | undefined {
  const active = activeSpanContext(context);
  if (active) return active;
  if (context.parent) return { ...context.parent, sampled: true };
  const inbound = context.inbound;
  return inbound && { traceId: inbound.traceId, spanId: inbound.spanId, sampled: inbound.sampled };
}

/** Ids for a request that was just created: of its parent's trace, or of a new one. */
export function provisionalTrace(context: CallContext): TraceRef {
  const parent = parentOf(context);
  return parent
    ? { traceId: parent.traceId, spanId: randomHex(8), parentSpanId: parent.spanId, sampled: parent.sampled }
    : { traceId: randomHex(16), spanId: randomHex(8), sampled: true };
}

/** Ids of the application's active span, read from its context by structure. */
export function activeSpanContext(
  context: CallContext,
): { traceId: string; spanId: string; sampled: boolean } | undefined {
  try {
    const span = context.otelContext?.getValue(SPAN_KEY);
    const get = (span as { spanContext?: () => unknown } | undefined)?.spanContext;
    if (typeof get !== 'function') return undefined;
    const ids = get.call(span) as { traceId?: unknown; spanId?: unknown; traceFlags?: unknown };
    const { traceId, spanId, traceFlags } = ids;
    if (typeof traceId !== 'string' || !/^[0-9a-f]{32}$/.test(traceId) || /^0+$/.test(traceId)) return undefined;
    if (typeof spanId !== 'string' || !/^[0-9a-f]{16}$/.test(spanId) || /^0+$/.test(spanId)) return undefined;
    return { traceId, spanId, sampled: typeof traceFlags === 'number' && (traceFlags & 1) === 1 };
  } catch {
    // A foreign context may do anything; without a readable span the call simply has no active parent.
    return undefined;
  }
}

/** Spans that only have ids: what the core uses when there is nowhere for spans to go. */
export function idOnlySpans(): CallSpans {
  return {
    start(call) {
      return { trace: call.provisional, settled: call.provisional.parentSpanId !== undefined, nested: false };
    },
    settle(handle, { parent, attempts }) {
      const trace: TraceRef =
        handle.settled || !parent
          ? handle.trace
          : {
              traceId: parent.traceId,
              spanId: handle.trace.spanId,
              parentSpanId: parent.spanId,
              sampled: parent.sampled,
            };
      return { trace, attemptSpanIds: attempts.map(() => randomHex(8)) };
    },
    end() {},
    startTool(tool) {
      const ids = tool.ids ?? {
        traceId: tool.parent?.traceId ?? randomHex(16),
        spanId: randomHex(8),
        ...(tool.parent ? { parentSpanId: tool.parent.spanId } : {}),
      };
      return { trace: { ...ids, sampled: tool.parent?.sampled ?? true }, settled: true, nested: false };
    },
    endTool() {},
    flush: () => Promise.resolve(),
  };
}
