/** A context and a span of our own, for parents that exist only as ids. */
import type { OtelContext } from '../wire-events.ts';
import { type ApiSpan, type ApiSpanContext, SAMPLED_FLAG, SPAN_KEY, SUPPRESS_KEY } from './api-shapes.ts';

/** An immutable map, as every API version expects of a context. */
class MapContext implements OtelContext {
  readonly #values: ReadonlyMap<symbol, unknown>;

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key);
  }

  setValue(key: symbol, value: unknown): OtelContext {
    return new MapContext(new Map(this.#values).set(key, value));
  }

  deleteValue(key: symbol): OtelContext {
    const values = new Map(this.#values);
    values.delete(key);
    return new MapContext(values);
  }
}

/** The context that holds nothing. */
export const ROOT_CONTEXT: OtelContext = new MapContext(new Map());

/** Ids of a parent. */
export interface ParentIds {
  traceId: string;
  spanId: string;
  sampled: boolean;
  /** The parent is a span of another process. */
  remote?: boolean;
}

/** `base` (which keeps its baggage) with a span of these ids as the active one. */
export function contextWithParent(base: OtelContext | undefined, parent: ParentIds): OtelContext {
  return (base ?? ROOT_CONTEXT).setValue(SPAN_KEY, idsOnlySpan(parent));
}

/** Whether the application switched tracing off for what it does in this context. */
export function isSuppressed(context: OtelContext | undefined): boolean {
  return context?.getValue(SUPPRESS_KEY) === true;
}

/** What `trace.wrapSpanContext` of the API makes: a span that records nothing. */
function idsOnlySpan(parent: ParentIds): ApiSpan {
  const ids: ApiSpanContext = {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.sampled ? SAMPLED_FLAG : 0,
    ...(parent.remote ? { isRemote: true } : {}),
  };
  const self = {
    spanContext: () => ids,
    setAttribute: () => self,
    setAttributes: () => self,
    addEvent: () => self,
    addLink: () => self,
    addLinks: () => self,
    setStatus: () => self,
    updateName: () => self,
    end: () => undefined,
    isRecording: () => false,
    recordException: () => undefined,
  };
  return self;
}
