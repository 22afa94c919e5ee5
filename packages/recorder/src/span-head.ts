/** What the payload twin takes over of a span: an item that waits keeps no attributes, which may hold whole conversations. */
import type { Json } from '@orangebox/schema';

const SPAN_HEAD: ReadonlySet<string> = new Set([
  'name',
  'kind',
  'parentSpanId',
  'startTimeUnixNano',
  'endTimeUnixNano',
]);

/** The head of an OTLP/JSON span. */
export function spanHead(span: Json | undefined): Json {
  return Object.fromEntries(Object.entries(span ?? {}).filter(([name]) => SPAN_HEAD.has(name)));
}
