/**
 * The private meter provider: all imports of the OpenTelemetry metrics SDK stand here. It is only ever imported
 * dynamically, some time after the first call, and registers nothing with the API.
 */
import { randomUUID } from 'node:crypto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, MetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { RecorderConfig } from '../config.ts';
import { afterMs, cancelTimer } from '../timers.ts';
import type { ApiMeterProvider } from './api-meters.ts';
import { unheld } from './unheld-exporter.ts';

/** A meter provider of our own. */
export interface PrivateMeter {
  provider: ApiMeterProvider;
  /** Settles when everything measured so far was exported or given up, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  shutdown(): Promise<void>;
}

/**
 * An export while the program runs takes no longer than this: the stock exporter's retries hold the process, and what
 * is missed comes with the next export.
 */
const MAX_EXPORT_MS = 3000;

type CreateExporter = (timeoutMillis: number) => PushMetricExporter;

/**
 * Exports at an interval. The SDK's own reader holds the process with the timer of each export, and with the program's
 * timers where those were replaced.
 */
class IntervalReader extends MetricReader {
  readonly #create: CreateExporter;
  readonly #exporter: PushMetricExporter;
  readonly #intervalMs: number;
  readonly #onFault: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(create: CreateExporter, intervalMs: number, timeoutMs: number, onFault: (error: unknown) => void) {
    const exporter = create(Math.min(timeoutMs, MAX_EXPORT_MS));
    super({
      aggregationSelector: (type) => exporter.selectAggregation?.(type) ?? { type: 0 },
      aggregationTemporalitySelector: (type) => exporter.selectAggregationTemporality?.(type) ?? 1,
    });
    this.#create = create;
    this.#exporter = exporter;
    this.#intervalMs = intervalMs;
    this.#onFault = onFault;
  }

  /** One more export, by an exporter that has only the time left. */
  async leave(timeoutMs: number): Promise<void> {
    await this.#running;
    await this.#export(this.#create(Math.max(100, timeoutMs)));
  }

  protected override onInitialized(): void {
    this.#schedule();
  }

  protected override async onForceFlush(): Promise<void> {
    await this.#export(this.#exporter);
  }

  protected override async onShutdown(): Promise<void> {
    cancelTimer(this.#timer);
    await this.#export(this.#exporter);
    await this.#exporter.shutdown();
  }

  #schedule(): void {
    this.#timer = afterMs(this.#intervalMs, () => {
      // What is thrown here would be nobody's to catch, and an unhandled rejection ends the program.
      this.#running = this.#export(this.#exporter)
        .catch(this.#onFault)
        .finally(() => {
          this.#running = undefined;
          this.#schedule();
        });
    }).unref();
  }

  /** A refused or late export is the exporter's to tell (through the API's `diag`). */
  async #export(exporter: PushMetricExporter): Promise<void> {
    const { resourceMetrics } = await this.collect();
    if (resourceMetrics.scopeMetrics.length === 0) return;
    await new Promise<void>((resolve) => exporter.export(resourceMetrics, () => resolve()));
  }
}

/** Makes it. The exporter reads its standard `OTEL_*` variables itself; `onFault` is told what it throws at an interval. */
export async function createSdkMeter(config: RecorderConfig, onFault: (error: unknown) => void): Promise<PrivateMeter> {
  const { protocol, intervalMs, timeoutMs } = config.metrics;
  const { OTLPMetricExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  const reader = new IntervalReader(
    (timeoutMillis) => unheld(new OTLPMetricExporter({ timeoutMillis })),
    intervalMs,
    timeoutMs,
    onFault,
  );
  const provider = new MeterProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        // Each process counts from zero: two of one service must not be taken for one series.
        'service.instance.id': randomUUID(),
        ...config.resource,
        'service.name': config.serviceName,
      }),
    ),
    readers: [reader],
  });
  return {
    provider: provider as unknown as ApiMeterProvider,
    flush: (leftMs) => reader.leave(leftMs),
    shutdown: () => provider.shutdown(),
  };
}
