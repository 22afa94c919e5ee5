/**
 * The application's active OpenTelemetry context, read from the API's global without importing the API.
 * https://github.com/open-telemetry/opentelemetry-js/blob/main/api/src/internal/global-utils.ts
 */
import type { OtelContext } from '@orangebox/recorder';

/** Key under which the API, of every version 1, registers itself. */
const API = Symbol.for('opentelemetry.js.api.1');
/** Key of the active span in a context (`createContextKey` is `Symbol.for`). */
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

interface OtelApi {
  context?: { active?: () => OtelContext };
}

/** The active context; undefined without a registered context manager. */
export function activeOtelContext(): OtelContext | undefined {
  try {
    const api = (globalThis as { [key: symbol]: unknown })[API] as OtelApi | undefined;
    return api?.context?.active?.();
  } catch {
    return undefined;
  }
}

/** Ids of a context's span, with the span itself as its identity. */
export interface ActiveSpan {
  span: unknown;
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/** The span of a context, where it has one with valid ids. */
export function spanContextOf(context: OtelContext | undefined): ActiveSpan | undefined {
  try {
    const span = context?.getValue(SPAN) as { spanContext?: () => Partial<ActiveSpan> } | undefined;
    const ids = span?.spanContext?.();
    if (!ids?.traceId || !ids.spanId || /^0+$/.test(ids.traceId)) return undefined;
    return { span, traceId: ids.traceId, spanId: ids.spanId, traceFlags: ids.traceFlags ?? 0 };
  } catch {
    return undefined;
  }
}

/** A context with a span of these ids in it; the application's own context stays as it is. */
export function withSpan(
  context: OtelContext,
  ids: { traceId: string; spanId: string; traceFlags: number },
): OtelContext {
  const own = { traceId: ids.traceId, spanId: ids.spanId, traceFlags: ids.traceFlags };
  const span = {
    spanContext: () => own,
    isRecording: () => false,
    setAttribute: () => span,
    setAttributes: () => span,
    addEvent: () => span,
    addLink: () => span,
    addLinks: () => span,
    setStatus: () => span,
    updateName: () => span,
    recordException: () => undefined,
    end: () => undefined,
  };
  return context.setValue(SPAN, span);
}
