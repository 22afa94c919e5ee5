/**
 * Collects spans and exports them in batches, as the SDK's own processor does. That one holds the process with a timer for as
 * long as an export takes, thirty seconds at most: a collector that hangs would delay the end of every program.
 */
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterMs, cancelTimer } from '../timers.ts';
import { SAMPLED_FLAG } from './api-shapes.ts';

/** The variables `OTEL_BSP_*`. */
export interface BatchLimits {
  /** Spans that may wait; what comes on top is dropped. */
  queueSpans: number;
  batchSpans: number;
  /** How long spans wait for others to fill a batch. */
  delayMs: number;
  /** How long an export is waited for before the next one starts. */
  exportTimeoutMs: number;
}

/** Holds no process alive. */
export class BatchProcessor implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #limits: BatchLimits;
  readonly #onDropped: (span: ReadableSpan) => void;
  readonly #running = new Set<Promise<void>>();
  #queue: ReadableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isExporting = false;

  constructor(exporter: SpanExporter, limits: BatchLimits, onDropped: (span: ReadableSpan) => void = () => {}) {
    this.#exporter = exporter;
    this.#limits = limits;
    this.#onDropped = onDropped;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED_FLAG) === 0) return;
    if (this.#queue.length >= this.#limits.queueSpans) {
      this.#onDropped(span);
      return;
    }
    this.#queue.push(span);
    this.#plan();
  }

  /** Exports all that waits at once; settles when it and what was under way has ended, however. */
  async forceFlush(): Promise<void> {
    this.#clearTimer();
    while (this.#queue.length > 0) void this.#exportBatch();
    await Promise.all(this.#running);
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
    await this.#exporter.shutdown();
  }

  #plan(): void {
    if (this.#isExporting || this.#queue.length === 0) return;
    if (this.#queue.length >= this.#limits.batchSpans) this.#exportInTurn();
    else this.#timer ??= afterMs(this.#limits.delayMs, () => this.#exportInTurn()).unref();
  }

  #exportInTurn(): void {
    this.#clearTimer();
    this.#isExporting = true;
    void this.#exportBatch().then(() => {
      this.#isExporting = false;
      this.#plan();
    });
  }

  #exportBatch(): Promise<void> {
    const spans = this.#queue.splice(0, this.#limits.batchSpans);
    const exported = new Promise<void>((resolve) => {
      const timer = afterMs(this.#limits.exportTimeoutMs, resolve).unref();
      this.#exporter.export(spans, () => {
        cancelTimer(timer);
        resolve();
      });
    });
    const settled = exported
      .catch(() => undefined)
      .finally(() => {
        this.#running.delete(settled);
      });
    this.#running.add(settled);
    return settled;
  }

  #clearTimer(): void {
    cancelTimer(this.#timer);
    this.#timer = undefined;
  }
}
