/** Recovery in the process of a program: what earlier ones left goes out beside its own calls, and never before them. */
import type { RecorderConfig } from '../config.ts';
import { hidden } from '../otel/application-api.ts';
import { semconvNames } from '../otel/gen-ai-attributes.ts';
import { afterMs, type PlatformTimers, useTimers } from '../timers.ts';
import { spanSender } from './create-recovery.ts';
import type { PayloadSender } from './payload-sender.ts';
import { recoverDirectory } from './recover-directory.ts';
import type { RecoveryHost } from './recover-series.ts';

/** What the recorder gives. */
export interface BesideSettings {
  config: RecorderConfig;
  timers: PlatformTimers | undefined;
  redactor: RecoveryHost['redactor'];
  payloads: PayloadSender;
}

const SLICE_MS = 2;
const PAUSE_MS = 20;

/** One pass over the program's directory. Its timers hold no process. Rejects where nothing can be written. */
export async function recoverBeside({ config, timers, redactor, payloads }: BesideSettings): Promise<void> {
  useTimers(timers);
  await hidden(() =>
    recoverDirectory({
      dir: config.dir,
      kind: 'start',
      pace: { sliceMs: SLICE_MS, pause: () => new Promise((resolve) => afterMs(PAUSE_MS, resolve).unref()) },
      spanContent: { captureContent: config.captureContent, names: semconvNames(config.otel.semconvOptIn) },
      redactor,
      payloads,
      // Its spans' endpoint is the program's own: what is wrong with it was told.
      ...(config.otel.exporter === 'otlp' ? { spans: spanSender(config, () => {}) } : {}),
      retryQuarantined: false,
    }),
  );
}
