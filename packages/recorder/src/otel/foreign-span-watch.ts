/**
 * Remembers spans of LLM calls that others make. Needed only where an HTTP client instrumentation's span stands between
 * such a span and the request: a span knows its parent's id, but not its parent. So nothing is added to the
 * application's provider before that was seen once.
 */
import { applicationProvider } from './application-api.ts';
import { describesCall, type SdkSpan } from './foreign-call-span.ts';

/** Ids that are remembered; a call needs its own only while it is under way. */
const MAX_REMEMBERED = 2000;

/** Watches the application's spans. */
export interface ForeignSpanWatch {
  /** Adds a processor to the provider that is registered now, once per provider. */
  look(): void;
  /** Whether the span of this id is that of an LLM call. */
  isCallSpan(spanId: string): boolean;
}

interface Processor {
  onStart(span: unknown): void;
  onEnd(span: unknown): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Nothing is watched before {@link ForeignSpanWatch.look}. */
export function createForeignSpanWatch(): ForeignSpanWatch {
  const remembered = new Set<string>();
  const watched = new WeakSet<object>();
  const note = (span: unknown): void => {
    try {
      if (!describesCall(span as SdkSpan)) return;
      remembered.add((span as { spanContext(): { spanId: string } }).spanContext().spanId);
      const [oldest] = remembered;
      if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    } catch {
      // A span of unknown make is none that we know.
    }
  };
  // A span that had started before we looked is noted when it ends, which is before our own is finished.
  const processor: Processor = {
    onStart: note,
    onEnd: note,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  return {
    look() {
      const provider = applicationProvider();
      if (!provider || watched.has(provider)) return;
      watched.add(provider);
      addProcessor(provider, processor);
    },
    isCallSpan: (spanId) => remembered.has(spanId),
  };
}

/** SDK 1.x has a method for it; 2.x keeps its processors in a list. Others are left alone. */
function addProcessor(provider: object, processor: Processor): void {
  const { addSpanProcessor, _activeSpanProcessor: active } = provider as {
    addSpanProcessor?: (processor: Processor) => void;
    _activeSpanProcessor?: { _spanProcessors?: unknown };
  };
  if (typeof addSpanProcessor === 'function') addSpanProcessor.call(provider, processor);
  else if (Array.isArray(active?._spanProcessors)) active._spanProcessors.push(processor);
}
