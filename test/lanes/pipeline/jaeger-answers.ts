/** What Jaeger's API says of a trace, waited for and taken apart. */
import { setTimeout as wait } from 'node:timers/promises';
import type { RecordedCall } from './agent-run.ts';
import type { JaegerServer } from './servers/index.ts';

/** A span as the API gives it. */
export interface JaegerSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes?: { key: string; value: { stringValue?: string; intValue?: string } }[];
  events?: { name: string }[];
}

/** A trace: the answer as it came, and its spans. */
export interface JaegerTrace {
  raw: string;
  spans: JaegerSpan[];
}

/** The traces of recorded calls, once each has a span for every one of its calls. */
export function tracesOf(jaeger: JaegerServer, calls: readonly RecordedCall[]): Promise<JaegerTrace[]> {
  const spanIds = new Map<string, string[]>();
  for (const { snapshot } of calls) {
    const { traceId } = snapshot.trace;
    spanIds.set(traceId, [...(spanIds.get(traceId) ?? []), snapshot.id]);
  }
  return Promise.all([...spanIds].map(([traceId, ids]) => traceOf(jaeger, traceId, ids)));
}

/** The trace once it has all the spans; fails after a while with what is missing. */
export async function traceOf(
  jaeger: JaegerServer,
  traceId: string,
  spanIds: readonly string[],
  timeoutMs = 20_000,
): Promise<JaegerTrace> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const trace = await askFor(jaeger, traceId);
    const missing = spanIds.filter((id) => !trace.spans.some(({ spanId }) => spanId === id));
    if (missing.length === 0) return trace;
    if (Date.now() > deadline) throw new Error(`trace ${traceId} has no span ${missing.join(', ')} in Jaeger`);
    await wait(100);
  }
}

/** The trace as it is now; without spans when Jaeger does not know it. */
export async function askFor(jaeger: JaegerServer, traceId: string): Promise<JaegerTrace> {
  const response = await fetch(`${jaeger.url}/api/v3/traces/${traceId}`);
  const raw = await response.text();
  if (response.status === 404) return { raw, spans: [] };
  if (!response.ok) throw new Error(`Jaeger answers ${response.status}: ${raw.slice(0, 300)}`);
  const { result } = JSON.parse(raw) as { result: { resourceSpans: { scopeSpans: { spans: JaegerSpan[] }[] }[] } };
  const spans = result.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  return { raw, spans };
}

/** An attribute of a span. */
export function attributeOf(span: JaegerSpan | undefined, key: string): string | undefined {
  const value = span?.attributes?.find((attribute) => attribute.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
}
