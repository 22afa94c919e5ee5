/** Recovery for those who are not the recording process: the command, and a sidecar. */
import { hidden } from '../otel/application-api.ts';
import { semconvNames } from '../otel/gen-ai-attributes.ts';
import { recorderVersion } from '../otel/version.ts';
import type { RecorderConfig } from '../config.ts';
import { messageOf } from '../report.ts';
import { SecretKeeper } from '../secrets.ts';
import { createShipper } from '../shipping/payload-shipper.ts';
import { nowMs } from '../timers.ts';
import { ShippingSender } from './payload-sender.ts';
import type { RecoveryHost, SpanSender } from './recover-series.ts';
import type { Pace } from './slices.ts';

/** How a recovery is done, and who is told of what stands in its way. */
export interface RecoverySettings {
  dir: string;
  /** What the environment says: endpoints, exporter, patterns to redact. */
  config: RecorderConfig;
  env: Record<string, string | undefined>;
  kind: 'recover' | 'ship';
  retryQuarantined?: boolean;
  signal?: AbortSignal;
  /** An endpoint that does not answer is not waited for. */
  isOnce?: boolean;
  /** An endpoint that does not answer, or refuses, and whatever else a person should know; codes repeat. */
  onTrouble(code: string, message: string): void;
}

/** Makes what the passes over a directory work with. An endpoint is waited for by a sidecar only. */
export function createRecovery(settings: RecoverySettings): RecoveryHost {
  const { dir, config, env, kind, onTrouble, signal, retryQuarantined = false, isOnce = kind === 'recover' } = settings;
  const secrets = new SecretKeeper(config.redactPatterns, () => env, nowMs);
  const told = (code: string, message: string): void => onTrouble(code, secrets.redactor().text(message).text);
  const payloads = config.endpoint
    ? new ShippingSender((host) => createShipper(config, host), told, { stopsAtTrouble: isOnce })
    : undefined;
  signal?.addEventListener('abort', () => {
    if (kind === 'recover') payloads?.stop();
    // A sidecar finishes what is under way.
    else payloads?.finish(FINISH_MS);
  });
  return {
    dir,
    kind,
    pace: QUICK,
    spanContent: { captureContent: config.captureContent, names: semconvNames(config.otel.semconvOptIn) },
    redactor: () => secrets.redactor(),
    retryQuarantined,
    onFault: (series, error) => told('recovery_fault', `${series} can't be recovered: ${messageOf(error)}`),
    ...(payloads ? { payloads } : {}),
    ...(config.otel.exporter === 'otlp' ? { spans: spanSender(config, told) } : {}),
    ...(signal ? { signal } : {}),
  };
}

/** How long a sidecar that is told to stop waits for answers. */
const FINISH_MS = 9000;

/** Signals are seen between two slices. */
const QUICK: Pace = { sliceMs: 50, pause: () => new Promise((resolve) => setImmediate(resolve)) };

/** Exports through the SDK's exporter, under the resource of the process that died. */
export function spanSender(
  config: Pick<RecorderConfig, 'otel'>,
  onTrouble: (code: string, message: string) => void,
): SpanSender {
  return {
    async send(spans, process) {
      try {
        const { exportBatch } = await import('../otel/sdk-provider.ts');
        const about = { otel: config.otel, resource: process.resource ?? {}, serviceName: process.serviceName };
        const { accepted, reason } = await hidden(() => exportBatch(spans, about, recorderVersion));
        if (!accepted) onTrouble('spans_refused', `the OTLP endpoint does not take spans (${reason ?? 'no answer'})`);
        return accepted;
      } catch (error) {
        onTrouble('spans_refused', `spans can't be exported: ${messageOf(error)}`);
        return false;
      }
    },
  };
}
