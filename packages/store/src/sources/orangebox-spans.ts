/** Telling the spans that Orangebox made from all others, and spans that match a query from those that do not. */
import { ATTR, INSTRUMENTATION_SCOPE } from '@orangebox/schema';
import type { SourceSpan, SpanQuery } from './trace-source.ts';

/** Attribute and values that every span of a call or tool execution has: what a backend is asked for. */
export const FIDELITY_VALUES: readonly { name: string; value: string }[] = ['exact', 'partial'].map((value) => ({
  name: ATTR.snapshotFidelity,
  value,
}));

/** Whether Orangebox made it: a call, a tool execution, or an attempt of a call. */
export function isOrangeboxSpan(span: SourceSpan): boolean {
  if (span.scope === INSTRUMENTATION_SCOPE) return true;
  return Object.keys(span.attributes).some((name) => name.startsWith('orangebox.'));
}

/** The spans of Orangebox in the traces where a span meets the query's conditions, within its time. */
export function selectSpans(spans: readonly SourceSpan[], query: SpanQuery): SourceSpan[] {
  const traces = new Set<string>();
  for (const span of spans) if (meets(span, query)) traces.add(span.traceId);
  return spans.filter((span) => traces.has(span.traceId) && isOrangeboxSpan(span));
}

/** Whether a span meets all conditions but the time. */
function meets(span: SourceSpan, { attributes = {}, serviceName }: SpanQuery): boolean {
  if (serviceName !== undefined && span.resource['service.name'] !== serviceName) return false;
  const wanted = Object.entries(attributes);
  return wanted.length === 0 ? isOrangeboxSpan(span) : wanted.every(([name, value]) => holds(span, name, value));
}

function holds(span: SourceSpan, name: string, value: string): boolean {
  const own = Object.hasOwn(span.attributes, name) ? span.attributes[name] : undefined;
  return own !== undefined && !Array.isArray(own) && String(own) === value;
}
