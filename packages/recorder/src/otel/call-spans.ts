/**
 * Spans of calls and tools: by the application's provider where there is one, else by the private provider where spans
 * have somewhere to go, else as ids only. Which one is asked anew at each call, since applications set theirs up late.
 */
import type { SpansBy, TraceRef } from '@orangebox/schema';
import type { RecorderConfig } from '../config.ts';
import { messageOf, type Reporter } from '../report.ts';
import {
  activeSpanContext,
  type CallSpanFacts,
  type CallSpans,
  type CallSpanStart,
  idOnlySpans,
  parentOf,
  randomHex,
  type SettledSpans,
  type SpanHandle,
  type ToolSpanFacts,
  type ToolSpanStart,
} from '../spans.ts';
import type { PayloadRoom } from '../payload-on-span.ts';
import type { CallContext } from '../wire-events.ts';
import {
  adoptIds,
  type ApplicationSpan,
  endApplicationSpan,
  roomOfApplicationSpan,
  startApplicationSpan,
  warnValueLimit,
} from './application-spans.ts';
import { applicationProvider } from './application-api.ts';
import { isSuppressed, type ParentIds } from './context.ts';
import { isForeignCallSpan, parentOfHttpSpan } from './foreign-call-span.ts';
import { createForeignSpanWatch } from './foreign-span-watch.ts';
import { orangeboxPlaceholders } from './span-content.ts';
import { createPrivateSpans } from './private-spans.ts';
import { samplingDecision } from './sampling.ts';
import { createShutdownWatch } from './shutdown-watch.ts';
import { recorderVersion } from './version.ts';

interface Handle extends SpanHandle {
  trace: TraceRef;
  settled: boolean;
  readonly nested: boolean;
  readonly context: CallContext | undefined;
  readonly start: CallSpanStart | undefined;
  /** Tracing is switched off around the call: ids, but no span anywhere. */
  readonly suppressed: boolean;
  application?: ApplicationSpan;
  attempts: ApplicationSpan[];
}

/** Makes the spans. Loaded with the core: the SDK is loaded later, and only for the private provider. */
export function createCallSpans(config: RecorderConfig, reporter: Reporter): CallSpans {
  if (config.otel.disabled) return idOnlySpans();
  return new OtelCallSpans(config, reporter);
}

class OtelCallSpans implements CallSpans {
  readonly #reporter: Reporter;
  readonly #private: ReturnType<typeof createPrivateSpans> | undefined;
  readonly #sampled: ReturnType<typeof samplingDecision>;
  readonly #valueLimit: number;
  readonly #exportsSpans: boolean;
  readonly #foreign = createForeignSpanWatch();
  #watch: ReturnType<typeof createShutdownWatch> | undefined;

  constructor(config: RecorderConfig, reporter: Reporter) {
    this.#reporter = reporter;
    const { exporter, sampler, samplerArgument, attributeValueLimit } = config.otel;
    this.#exportsSpans = exporter === 'otlp';
    this.#private = exporter === 'none' ? undefined : createPrivateSpans(config, recorderVersion, reporter);
    this.#valueLimit = attributeValueLimit ?? Number.POSITIVE_INFINITY;
    this.#sampled = this.#private ? samplingDecision(sampler, samplerArgument) : () => true;
    if (this.#private && attributeValueLimit !== undefined && attributeValueLimit < 80) warnValueLimit(reporter);
  }

  start(call: CallSpanStart): SpanHandle {
    const handle = this.#newHandle(call);
    this.#guard(() => {
      this.#watch?.look();
      const parent = parentIds(call.context);
      if (!parent) return;
      handle.settled = true;
      this.#startSpan(handle, call, parent);
    });
    if (!handle.application) this.#private?.prepare();
    return handle;
  }

  settle(
    given: SpanHandle,
    options: { parent?: TraceRef; attempts: { startUnixNano: bigint; name: string }[] },
  ): SettledSpans {
    const handle = given as Handle;
    if (!handle.settled && handle.start) {
      const { start } = handle;
      handle.settled = true;
      this.#guard(() => this.#startSpan(handle, start, options.parent));
    }
    const attemptSpanIds = options.attempts.map(({ name, startUnixNano }, i) => {
      if (handle.application) {
        this.#guard(() => {
          const attempt = startApplicationSpan(
            recorderVersion,
            { name, kind: 'client', startUnixNano, context: handle.context?.otelContext, parent: handle.trace },
            handle.trace,
          );
          if (attempt) handle.attempts[i] = attempt;
        });
      }
      return handle.attempts[i]?.trace.spanId ?? randomHex(8);
    });
    return { trace: handle.trace, attemptSpanIds };
  }

  end(given: SpanHandle, facts: CallSpanFacts): void {
    const handle = given as Handle;
    this.#guard(() => {
      const own = handle.application;
      if (own) {
        facts.attempts.forEach((attempt, i) => {
          const span = handle.attempts[i];
          if (span) endApplicationSpan(span, attempt, this.#reporter);
        });
        endApplicationSpan(own, facts, this.#reporter);
        return;
      }
      if (!this.#private || handle.suppressed || !handle.trace.sampled) return;
      const { trace } = handle;
      // Children first, as spans end.
      for (const attempt of facts.attempts) {
        this.#private.add({
          ...attempt,
          kind: 'client',
          trace: { traceId: trace.traceId, spanId: attempt.spanId, parentSpanId: trace.spanId, sampled: true },
        });
      }
      this.#private.add({ ...facts, trace, kind: handle.nested ? 'internal' : 'client' });
    });
  }

  startTool(tool: ToolSpanStart): SpanHandle {
    const parent = tool.parent ?? toolParent(tool);
    const ids = tool.ids ?? { traceId: parent?.traceId ?? randomHex(16), spanId: randomHex(8) };
    const handle: Handle = {
      trace: {
        traceId: ids.traceId,
        spanId: ids.spanId,
        ...(parent ? { parentSpanId: parent.spanId } : {}),
        sampled: this.#sampled(ids.traceId, parent?.sampled),
      },
      settled: true,
      nested: false,
      context: tool.context,
      start: undefined,
      suppressed: isSuppressed(tool.context?.otelContext),
      attempts: [],
    };
    this.#guard(() => {
      if (handle.suppressed) return;
      const started = startApplicationSpan(
        recorderVersion,
        {
          name: tool.name,
          kind: 'internal',
          startUnixNano: tool.startUnixNano,
          attributes: orangeboxPlaceholders(),
          context: tool.context?.otelContext,
          ...(parent ? { parent } : {}),
        },
        parent,
      );
      if (!started) return;
      handle.application = started;
      // Calls made inside a wrapped tool already name its ids as their parent.
      if (tool.ids) adoptIds(started.span, { traceId: ids.traceId, spanId: ids.spanId });
      handle.trace = tool.ids ? { ...handle.trace, sampled: started.trace.sampled } : started.trace;
    });
    return handle;
  }

  endTool(given: SpanHandle, facts: ToolSpanFacts): void {
    const handle = given as Handle;
    this.#guard(() => {
      if (handle.application) endApplicationSpan(handle.application, facts, this.#reporter);
      else if (this.#private && !handle.suppressed && handle.trace.sampled) {
        this.#private.add({ ...facts, trace: handle.trace, kind: 'internal' });
      }
    });
  }

  async flush(timeoutMs: number): Promise<void> {
    try {
      await this.#private?.flush(timeoutMs);
    } catch (error) {
      this.#reporter.fault('span_flush', error);
    }
  }

  onBeforeShutdown(drain: () => void): void {
    this.#watch = createShutdownWatch(() => this.#guard(drain));
  }

  mayStopUnseen(): boolean {
    let isBlind = false;
    this.#guard(() => (isBlind = this.#watch?.isBlind() ?? false));
    return isBlind;
  }

  payloadRoom(given: SpanHandle): PayloadRoom | undefined {
    const handle = given as Handle;
    try {
      if (handle.application) return roomOfApplicationSpan(handle.application);
    } catch {
      // A foreign span that can't be asked is given nothing to carry.
      return undefined;
    }
    if (!this.#private || handle.suppressed || !handle.trace.sampled) return undefined;
    return { maxChars: this.#valueLimit, isAcknowledged: true };
  }

  isCongested(): boolean {
    return this.#private?.isCongested?.() ?? false;
  }

  onPayloadsExported(told: (keys: readonly string[], isAccepted: boolean) => void): void {
    this.#private?.onPayloadsExported(told);
  }

  exportedBy(given: SpanHandle): SpansBy | undefined {
    const handle = given as Handle;
    if (handle.application) return 'application';
    return this.#exportsSpans && !handle.suppressed && handle.trace.sampled ? 'orangebox' : undefined;
  }

  onSpansSent(told: (spanIds: readonly string[]) => void): void {
    this.#private?.onSpansSent(told);
  }

  #newHandle(call: CallSpanStart): Handle {
    const { otelContext } = call.context;
    const direct = isForeignCallSpan(otelContext);
    const aboveHttp = direct ? undefined : parentOfHttpSpan(otelContext);
    const foreign = this.#foreign;
    if (aboveHttp !== undefined) this.#guard(() => foreign.look());
    return {
      trace: call.provisional,
      settled: false,
      // Asked again at the end: of the first call's parent it is known only then.
      get nested() {
        return direct || (aboveHttp !== undefined && foreign.isCallSpan(aboveHttp));
      },
      context: call.context,
      start: call,
      suppressed: isSuppressed(otelContext),
      attempts: [],
    };
  }

  /** Starts the span by the application's provider, or fixes the ids that the private one will use. */
  #startSpan(handle: Handle, call: CallSpanStart, parent: ParentIds | undefined): void {
    if (!handle.suppressed && applicationProvider()) {
      const active = activeSpanContext(call.context);
      const started = startApplicationSpan(
        recorderVersion,
        {
          name: call.name,
          kind: handle.nested ? 'internal' : 'client',
          startUnixNano: call.startUnixNano,
          attributes: { ...orangeboxPlaceholders(), ...call.attributes },
          context: call.context.otelContext,
          // The active span itself stays in the context: samplers and processors may look at it.
          ...(parent && !active ? { parent } : {}),
        },
        parent,
      );
      if (started) {
        handle.application = started;
        handle.trace = started.trace;
        return;
      }
    }
    const { provisional } = call;
    const traceId = parent?.traceId ?? provisional.traceId;
    handle.trace = {
      traceId,
      spanId: provisional.spanId,
      ...(parent ? { parentSpanId: parent.spanId } : {}),
      sampled: !handle.suppressed && this.#sampled(traceId, parent?.sampled),
    };
  }

  /** Application providers, processors and samplers are foreign code: whatever they throw is ours to bear. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#reporter.warn(
        'span_provider',
        `an OpenTelemetry provider failed (${messageOf(error)}); spans may be missing`,
      );
    }
  }
}

/** The parent of a call with what is needed to describe it to a sampler. */
function parentIds(context: CallContext): ParentIds | undefined {
  const parent = parentOf(context);
  if (!parent) return undefined;
  const isInbound = !activeSpanContext(context) && !context.parent;
  return isInbound ? { ...parent, remote: true } : parent;
}

function toolParent(tool: ToolSpanStart): ParentIds | undefined {
  if (tool.ids?.parentSpanId !== undefined) {
    return { traceId: tool.ids.traceId, spanId: tool.ids.parentSpanId, sampled: true };
  }
  return tool.ids === undefined && tool.context ? parentIds(tool.context) : undefined;
}
