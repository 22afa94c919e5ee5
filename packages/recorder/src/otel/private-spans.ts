/** Holds finished spans until the private provider has been loaded, and hands them on. */
import type { RecorderConfig } from '../config.ts';
import type { Reporter } from '../report.ts';
import { hidden } from './application-api.ts';
import type { FinishedSpan, SpanSink } from './finished-span.ts';
import { afterMs, cancelTimer, nextTurn, nowMs } from '../timers.ts';

/** As many as the SDK's own queue holds. */
const MAX_WAITING = 2048;

/** A sink that loads the SDK beside the program. */
export interface PrivateSpans extends SpanSink {
  /** Starts loading, in a turn of its own. Call it when the first request has left. */
  prepare(): void;
}

/** Makes the sink; `load` is replaced in tests. */
export function createPrivateSpans(
  config: RecorderConfig,
  version: string,
  reporter: Reporter,
  load: (config: RecorderConfig, version: string) => Promise<SpanSink> = loadSdkProvider,
): PrivateSpans {
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

  const start = (): Promise<void> => {
    loading ??= hidden(() => load(config, version)).then(
      (loaded) => {
        sink = loaded;
        for (const span of waiting.splice(0)) addNow(loaded, span);
      },
      (error: unknown) => {
        waiting.length = 0;
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
      if (waiting.length >= MAX_WAITING) return reporter.count('span_queue_full');
      waiting.push(span);
      void start();
    },
    async flush(timeoutMs) {
      if (!sink && waiting.length === 0) return;
      const deadline = nowMs() + timeoutMs;
      await within(timeoutMs, start());
      const loaded = sink;
      if (!loaded) return;
      const leftMs = Math.max(deadline - nowMs(), 1);
      // A refused or late export is the exporter's to tell (through the API's `diag`); the program must not notice.
      await within(
        leftMs,
        hidden(() => loaded.flush(leftMs)).catch(() => undefined),
      );
    },
  };
}

async function loadSdkProvider(config: RecorderConfig, version: string): Promise<SpanSink> {
  const { createSdkProvider } = await import('./sdk-provider.ts');
  return createSdkProvider(config, version);
}

/** Waits for `work`, at most `timeoutMs`. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = afterMs(timeoutMs, resolve);
  });
  await Promise.race([work, late]);
  cancelTimer(timer);
}
