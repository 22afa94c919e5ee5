/** Spans made by the application's provider, with the ids that its SDK gives. */
import { ATTR, PAYLOAD, type TraceRef } from '@orangebox/schema';
import { type PayloadEvent, type PayloadRoom, withPayload } from '../payload-on-span.ts';
import type { Reporter } from '../report.ts';
import type { SpanAttributes, SpanStatus } from '../spans.ts';
import type { OtelContext } from '../wire-events.ts';
import { API_SPAN_KIND, API_STATUS_ERROR, type ApiSpan, hrTime, SAMPLED_FLAG } from './api-shapes.ts';
import { applicationTracer } from './application-api.ts';
import { contextWithParent, type ParentIds, ROOT_CONTEXT } from './context.ts';

/** What a span is started with. */
export interface ApplicationSpanStart {
  name: string;
  kind: keyof typeof API_SPAN_KIND;
  startUnixNano: bigint;
  attributes?: SpanAttributes;
  /** The application's context of the call; its active span is the parent where `parent` is not given. */
  context: OtelContext | undefined;
  /** A parent that is no active span. */
  parent?: ParentIds;
}

/** A span of the application's provider. */
export interface ApplicationSpan {
  span: ApiSpan;
  trace: TraceRef;
}

/** Starts a span; undefined when there is no provider or it does nothing. */
export function startApplicationSpan(
  version: string,
  start: ApplicationSpanStart,
  parentIds: ParentIds | undefined,
): ApplicationSpan | undefined {
  const tracer = applicationTracer(version);
  if (!tracer) return undefined;
  const context = start.parent ? contextWithParent(start.context, start.parent) : (start.context ?? ROOT_CONTEXT);
  const span = tracer.startSpan(
    start.name,
    {
      kind: API_SPAN_KIND[start.kind],
      startTime: hrTime(start.startUnixNano),
      ...(start.attributes ? { attributes: start.attributes } : {}),
    },
    context,
  );
  const ids = span.spanContext();
  // A provider that does nothing hands out no ids, or those of the parent.
  if (!/^[0-9a-f]{16}$/.test(ids.spanId) || /^0+$/.test(ids.spanId) || ids.spanId === parentIds?.spanId) {
    return undefined;
  }
  return {
    span,
    trace: {
      traceId: ids.traceId,
      spanId: ids.spanId,
      ...(parentIds && parentIds.traceId === ids.traceId ? { parentSpanId: parentIds.spanId } : {}),
      sampled: (ids.traceFlags & SAMPLED_FLAG) === SAMPLED_FLAG,
    },
  };
}

/** Ends a span with its final facts, at the time noted on the wire. */
export function endApplicationSpan(
  { span }: ApplicationSpan,
  facts: {
    name?: string;
    attributes: SpanAttributes;
    status: SpanStatus;
    endUnixNano: bigint;
    event?: PayloadEvent;
  },
  reporter: Reporter,
): void {
  let { attributes } = facts;
  if (facts.event && !addPayload(span, facts.event, facts.endUnixNano)) {
    reporter.warn('inline_cut', 'the OpenTelemetry provider cut a snapshot; it stays on this machine');
    attributes = withPayload(facts, { keptLocal: 'value_limit' }).attributes;
  }
  span.setAttributes(attributes);
  if (facts.name !== undefined) span.updateName(facts.name);
  if (facts.status.code === 'error') {
    const { message } = facts.status;
    span.setStatus({ code: API_STATUS_ERROR, ...(message === undefined ? {} : { message }) });
  }
  warnWhenCut(span, attributes, reporter);
  span.end(hrTime(facts.endUnixNano));
}

/**
 * Gives a started span ids that others already name as their parent. The API has no way to ask for ids; the SDK's spans
 * return their own (mutable) context object, and exporters read it only after the end. Other SDKs keep what they chose.
 */
export function adoptIds(span: ApiSpan, ids: { traceId: string; spanId: string }): void {
  try {
    Object.assign(span.spanContext(), ids);
  } catch {
    // Frozen or computed: the span then stands under ids of its own, and still names the snapshot by its key.
  }
}

/** Limits and events of the SDK's spans (1.x and 2.x). */
interface SdkSpanEvents {
  _spanLimits?: {
    attributeValueLengthLimit?: unknown;
    eventCountLimit?: unknown;
    attributePerEventCountLimit?: unknown;
  };
  events?: { name?: unknown; attributes?: Record<string, unknown> }[];
}

/** Attributes of the event that carries a payload. */
const PAYLOAD_ATTRIBUTES = Object.keys(PAYLOAD).length - 1;

/** How much of a payload a span of the application can carry; undefined when it is not recorded. */
export function roomOfApplicationSpan({ span }: ApplicationSpan): PayloadRoom | undefined {
  if (!span.isRecording() || typeof span.addEvent !== 'function') return undefined;
  const limits = (span as SdkSpanEvents)._spanLimits;
  const limitOf = (value: unknown): number => (typeof value === 'number' ? value : Number.POSITIVE_INFINITY);
  const hasRoom = limitOf(limits?.eventCountLimit) > 0;
  const isWhole = limitOf(limits?.attributePerEventCountLimit) >= PAYLOAD_ATTRIBUTES;
  return { maxChars: hasRoom && isWhole ? limitOf(limits?.attributeValueLengthLimit) : 0, isAcknowledged: false };
}

/** False when the span cut what it was given; then it is taken back where that can be done. */
function addPayload(span: ApiSpan, { name, body, attributes }: PayloadEvent, unixNano: bigint): boolean {
  span.addEvent?.(name, attributes, hrTime(unixNano));
  const { events } = span as SdkSpanEvents;
  // Other SDKs show nothing of their events.
  if (!Array.isArray(events)) return true;
  const last = events.at(-1);
  if (last?.name !== name) return false;
  if (last.attributes?.[PAYLOAD.body] === body) return true;
  events.pop();
  return false;
}

/** A limit on attribute values cuts the key, which nobody can find a snapshot by any more. */
function warnWhenCut(span: ApiSpan, attributes: SpanAttributes, reporter: Reporter): void {
  const key = attributes[ATTR.snapshotKey];
  const kept = (span as { attributes?: Record<string, unknown> }).attributes?.[ATTR.snapshotKey];
  if (typeof key === 'string' && typeof kept === 'string' && key !== kept) warnValueLimit(reporter);
}

/** Says once that keys on spans are cut. */
export function warnValueLimit(reporter: Reporter): void {
  reporter.warn(
    'attribute_value_limit',
    'the limit on span attribute values is under 80, so snapshot keys on spans are cut; set OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT to 128 or more',
  );
}
