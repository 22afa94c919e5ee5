/**
 * Metrics of calls and of the recorder: by the application's meter provider where there is one, else by a private one
 * where metrics have somewhere to go. Which one is asked anew at each use, since applications set theirs up late.
 */
import type { RecorderConfig } from '../config.ts';
import type { ApiMeterProvider } from '../otel/api-meters.ts';
import { applicationMeterProvider, hidden } from '../otel/application-api.ts';
import type { PrivateMeter } from '../otel/sdk-meter-provider.ts';
import { recorderVersion } from '../otel/version.ts';
import { messageOf, type Reporter } from '../report.ts';
import type { CallSpanFacts } from '../spans.ts';
import { afterMs, cancelTimer, monotonicMs, within } from '../timers.ts';
import { type CallMeasurement, measureCall } from './call-measurement.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import type { RecorderHealth } from './recorder-health.ts';

/** What metrics are made with. */
export interface MetricsHost {
  config: RecorderConfig;
  reporter: Pick<Reporter, 'warn' | 'count'>;
  health(): RecorderHealth;
  /** Replaced in tests. */
  load?: (config: RecorderConfig, onFault: (error: unknown) => void) => Promise<PrivateMeter>;
}

/** Measurements that may wait for the SDK. */
const MAX_WAITING = 1000;
/** The SDK is loaded this long after the first call: its load takes time that the first answer's reader may want. */
const LOAD_AFTER_MS = 1000;

/** Measures. Never throws. */
export class RecorderMetrics {
  readonly #host: MetricsHost;
  readonly #instruments = new WeakMap<object, Instruments>();
  #waiting: CallMeasurement[] = [];
  #private: PrivateMeter | undefined;
  #loading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(host: MetricsHost) {
    this.#host = host;
  }

  /** A call's span ended. One inside another instrumentation's span is measured by that one, if at all. */
  callEnded(facts: CallSpanFacts, nested: boolean): void {
    this.#guard(() => this.#use(nested ? undefined : facts));
  }

  /** Something was recorded that is not measured itself: the recorder's own numbers want to be seen all the same. */
  touched(): void {
    this.#guard(() => this.#use(undefined));
  }

  /** Exports by the private provider, within `timeoutMs`. The application's is flushed by the application. */
  async flush(timeoutMs: number): Promise<void> {
    if (this.#timer !== undefined) {
      cancelTimer(this.#timer);
      this.#timer = undefined;
      void this.#load();
    }
    if (!this.#loading) return;
    const until = monotonicMs() + timeoutMs;
    await within(timeoutMs, this.#loading);
    const meter = this.#private;
    const leftMs = Math.max(1, until - monotonicMs());
    if (meter)
      await within(
        leftMs,
        hidden(() => meter.flush(leftMs)).catch(() => undefined),
      );
  }

  /** Measures only where somebody takes it: this runs for every call. */
  #use(facts: CallSpanFacts | undefined): void {
    if (this.#host.config.metrics.disabled) return;
    const application = applicationMeterProvider();
    if (!application && (this.#host.config.metrics.exporter === 'none' || this.#hasFailed)) return;
    const measurement = facts && measureCall(facts);
    if (application) {
      const instruments = this.#instrumentsOf(application);
      this.#leavePrivate();
      for (const waiting of this.#waiting.splice(0)) instruments.record(waiting);
      if (measurement) instruments.record(measurement);
      return;
    }
    if (this.#private) {
      const instruments = this.#instrumentsOf(this.#private.provider);
      if (measurement) instruments.record(measurement);
      return;
    }
    if (measurement) {
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(measurement);
      else this.#host.reporter.count('metric_queue_full');
    }
    if (this.#loading || this.#timer) return;
    const delayMs = Math.min(LOAD_AFTER_MS, this.#host.config.metrics.intervalMs);
    this.#timer = afterMs(delayMs, () => {
      this.#timer = undefined;
      void this.#load();
    }).unref();
  }

  #load(): Promise<void> {
    const { config, reporter, load = loadSdkMeter } = this.#host;
    const onFault = (error: unknown): void =>
      reporter.warn('metrics_export', `metrics can't be exported: ${messageOf(error)}`);
    // The SDK's timers and requests inherit the mark from here.
    this.#loading ??= hidden(() => load(config, onFault)).then(
      (meter) => {
        this.#private = meter;
        this.#guard(() => {
          const instruments = this.#instrumentsOf(meter.provider);
          for (const waiting of this.#waiting.splice(0)) instruments.record(waiting);
        });
      },
      (error: unknown) => {
        this.#hasFailed = true;
        this.#waiting = [];
        reporter.warn('metrics_load', `metrics can't be sent: ${messageOf(error)}`);
      },
    );
    return this.#loading;
  }

  /** The application has registered a provider meanwhile: what comes next is its to export. */
  #leavePrivate(): void {
    const meter = this.#private;
    if (!meter) return;
    this.#private = undefined;
    this.#hasFailed = true;
    void hidden(() => meter.shutdown()).catch(() => undefined);
  }

  #instrumentsOf(provider: ApiMeterProvider): Instruments {
    let found = this.#instruments.get(provider);
    if (!found) {
      found = createInstruments(provider, recorderVersion, () => this.#host.health());
      this.#instruments.set(provider, found);
    }
    return found;
  }

  /** An application's meter provider is foreign code: whatever it throws is ours to bear. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#host.reporter.warn(
        'meter_provider',
        `an OpenTelemetry meter provider failed (${messageOf(error)}); metrics may be missing`,
      );
    }
  }
}

async function loadSdkMeter(config: RecorderConfig, onFault: (error: unknown) => void): Promise<PrivateMeter> {
  const { createSdkMeter } = await import('../otel/sdk-meter-provider.ts');
  return createSdkMeter(config, onFault);
}
