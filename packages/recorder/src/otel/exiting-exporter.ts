/**
 * An exporter that keeps to the time that a program's end has. The stock OTLP exporter retries for ten seconds; when the
 * program is about to end, exports go through a second one that has only the time left.
 */
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';

type ExportArguments = Parameters<SpanExporter['export']>;

/** Chooses between the exporter for the process's life and the one for its end. */
export class ExitingExporter implements SpanExporter {
  readonly #create: (options: { timeoutMillis?: number }) => SpanExporter;
  readonly #living: SpanExporter;
  #leaving: SpanExporter | undefined;

  constructor(create: (options: { timeoutMillis?: number }) => SpanExporter) {
    this.#create = create;
    this.#living = create({});
  }

  /** From now on an export takes at most `timeoutMs`, retries included. */
  leaveWithin(timeoutMs: number): void {
    this.#leaving = this.#create({ timeoutMillis: Math.max(timeoutMs, 100) });
  }

  /** Back to the standard time limits. */
  stay(): void {
    this.#leaving = undefined;
  }

  export(...args: ExportArguments): void {
    (this.#leaving ?? this.#living).export(...args);
  }

  async forceFlush(): Promise<void> {
    await (this.#leaving ?? this.#living).forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#living.shutdown();
  }
}
