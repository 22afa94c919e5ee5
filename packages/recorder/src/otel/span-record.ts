/** Spans as OTLP/JSON `Span` objects: the recorder's own record, which no provider or sampler can take away. */
import type { Json, JsonObject, TraceRef } from '@orangebox/schema';
import type { AttributeValue, CallSpanFacts, SpanAttributes, SpanStatus, ToolSpanFacts } from '../spans.ts';

/** `SpanKind` of OTLP. */
const OTLP_SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;

/** The call's own span first, then its attempts'. */
export function callSpanRecords(facts: CallSpanFacts, trace: TraceRef, nested: boolean): Json[] {
  const own = spanRecord(trace, nested ? OTLP_SPAN_KIND.internal : OTLP_SPAN_KIND.client, facts);
  const attempts = facts.attempts.map((attempt) =>
    spanRecord(
      { traceId: trace.traceId, spanId: attempt.spanId, parentSpanId: trace.spanId, sampled: trace.sampled },
      OTLP_SPAN_KIND.client,
      attempt,
    ),
  );
  return [own, ...attempts];
}

/** A tool execution's span. */
export function toolSpanRecord(facts: ToolSpanFacts, trace: TraceRef): Json {
  return spanRecord(trace, OTLP_SPAN_KIND.internal, facts);
}

function spanRecord(
  trace: TraceRef,
  kind: number,
  facts: { name: string; startUnixNano: bigint; endUnixNano: bigint; attributes: SpanAttributes; status: SpanStatus },
): JsonObject {
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    ...(trace.parentSpanId === undefined ? {} : { parentSpanId: trace.parentSpanId }),
    flags: trace.sampled ? 1 : 0,
    name: facts.name,
    kind,
    startTimeUnixNano: String(facts.startUnixNano),
    endTimeUnixNano: String(facts.endUnixNano),
    attributes: Object.entries(facts.attributes).map(([key, value]) => ({ key, value: anyValue(value) })),
    status:
      facts.status.code === 'error'
        ? { code: 2, ...(facts.status.message === undefined ? {} : { message: facts.status.message }) }
        : {},
  };
}

/** OTLP/JSON `AnyValue`: integers are decimal strings. */
function anyValue(value: AttributeValue): JsonObject {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } };
}
