/** Holds finished spans until the private provider has been loaded, and hands them on. */
import { ATTR } from '@orangebox/schema';
import type { RecorderConfig } from '../config.ts';
import type { Reporter } from '../report.ts';
import { hidden } from './application-api.ts';
import type { FinishedSpan, PayloadsExported, SpanSink, SpansSent } from './finished-span.ts';
import { nextTurn, nowMs, within } from '../timers.ts';

/** As many as the SDK's own queue holds. */
const MAX_WAITING = 2048;

/** A sink that loads the SDK beside the program. */
export interface PrivateSpans extends SpanSink {
  /** Starts loading, in a turn of its own. Call it when the first request has left. */
  prepare(): void;
  /** One that is told what became of spans with payloads. */
  onPayloadsExported(told: PayloadsExported): void;
  /** One that is told which spans an endpoint acknowledged. */
  onSpansSent(told: SpansSent): void;
}

/** Makes the sink; `load` is replaced in tests. */
export function createPrivateSpans(
  config: RecorderConfig,
  version: string,
  reporter: Reporter,
  load: typeof loadSdkProvider = loadSdkProvider,
): PrivateSpans {
  let onExported: PayloadsExported = () => {};
  let onSent: SpansSent = () => {};
  const waiting: FinishedSpan[] = [];
  let sink: SpanSink | undefined;
  let loading: Promise<void> | undefined;

  const addNow = (to: SpanSink, span: FinishedSpan): void => {
    try {
      // The SDK's timers and requests inherit the mark from here.
      hidden(() => to.add(span));
    } catch (error) {
      reporter.fault('span_export', error);
    }
  };

  let hasFailed = false;
  const giveUp = ({ event, attributes }: FinishedSpan): void => {
    const key = attributes[ATTR.snapshotKey];
    if (event && typeof key === 'string') onExported([key], false);
  };

  const start = (): Promise<void> => {
    loading ??= hidden(() =>
      load(
        config,
        version,
        (keys, isAccepted) => onExported(keys, isAccepted),
        tellRefused(reporter),
        (spanIds) => onSent(spanIds),
      ),
    ).then(
      (loaded) => {
        sink = loaded;
        for (const span of waiting.splice(0)) addNow(loaded, span);
      },
      (error: unknown) => {
        for (const span of waiting.splice(0)) giveUp(span);
        hasFailed = true;
        reporter.fault('otel_load', error);
      },
    );
    return loading;
  };

  return {
    prepare() {
      if (loading) return;
      nextTurn(() => void start()).unref();
    },
    add(span) {
      if (sink) return addNow(sink, span);
      if (hasFailed || waiting.length >= MAX_WAITING) {
        giveUp(span);
        if (!hasFailed) reporter.count('span_queue_full');
        return;
      }
      waiting.push(span);
      void start();
    },
    // Until the SDK is there nothing is exported: what waits for it is bounded by its own queue.
    isCongested: () => (sink ? (sink.isCongested?.() ?? false) : !hasFailed && waiting.some(({ event }) => event)),
    onPayloadsExported(told) {
      onExported = told;
    },
    onSpansSent(told) {
      onSent = told;
    },
    async flush(timeoutMs) {
      if (!sink && waiting.length === 0) return;
      const deadline = nowMs() + timeoutMs;
      await within(timeoutMs, start());
      const loaded = sink;
      if (!loaded) return;
      const leftMs = Math.max(deadline - nowMs(), 1);
      // A refused or late export was told; the program must not notice.
      await within(
        leftMs,
        hidden(() => loaded.flush(leftMs)).catch(() => undefined),
      );
    },
  };
}

async function loadSdkProvider(
  config: RecorderConfig,
  version: string,
  onExported: PayloadsExported,
  onRefused: (error: Error | undefined) => void,
  onSent: SpansSent,
): Promise<SpanSink> {
  const { createSdkProvider } = await import('./sdk-provider.ts');
  return createSdkProvider(config, version, onExported, onRefused, onSent);
}

/** Says once that spans are lost: the exporter tells only the API's `diag`, which nobody listens to by default. */
function tellRefused(reporter: Reporter): (error: Error | undefined) => void {
  return (error) => {
    const code: unknown = error && 'code' in error ? error.code : undefined;
    const reason = typeof code === 'number' ? `status ${code}` : typeof code === 'string' ? code : 'no answer in time';
    reporter.warn(
      'spans_refused',
      `the OTLP endpoint does not take spans (${reason}); they are lost: OTEL_EXPORTER_OTLP_ENDPOINT names it`,
    );
  };
}
