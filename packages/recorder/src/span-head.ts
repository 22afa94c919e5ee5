/** What the payload twin takes over of a span: an item that waits keeps no attributes, which may hold whole conversations. */
import type { Json } from '@orangebox/schema';

/** The head of an OTLP/JSON span; absent is what it has not, or has in another form. */
export interface SpanHead {
  name?: string | undefined;
  kind?: number | undefined;
  /** Hex. */
  parentSpanId?: string | undefined;
  /** Decimal. */
  startTimeUnixNano?: string | undefined;
  endTimeUnixNano?: string | undefined;
}

/** The head of an OTLP/JSON span. All have the same members in the same order: an object of a shape of its own takes three times the room. */
export function spanHead(span: Json | undefined): SpanHead {
  const { name, kind, parentSpanId, startTimeUnixNano, endTimeUnixNano } = (
    typeof span === 'object' && span !== null ? span : {}
  ) as Record<keyof SpanHead, Json | undefined>;
  return {
    name: textOf(name),
    kind: typeof kind === 'number' ? kind : undefined,
    parentSpanId: textOf(parentSpanId),
    startTimeUnixNano: textOf(startTimeUnixNano),
    endTimeUnixNano: textOf(endTimeUnixNano),
  };
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
