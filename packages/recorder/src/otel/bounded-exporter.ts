/**
 * Cuts a batch of spans into requests of bounded size. The stock batch processor counts spans, not bytes, and a
 * collector that gets more than its limit (20 MiB by default) refuses the whole batch.
 */
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** `ExportResultCode` of the SDK. */
const SUCCESS = 0;
const FAILED = 1;

/** Bytes of a request beyond which the next span starts another one. */
const REQUEST_MAX_BYTES = 8 * 1024 * 1024;
/** What a span costs beside the texts in it. */
const SPAN_BYTES = 512;

/** One request at a time; a single span that is larger goes alone. */
export class BoundedExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #onExported: (spans: readonly ReadableSpan[], isAccepted: boolean, error?: Error) => void;
  readonly #maxBytes: number;
  #turn: Promise<void> = Promise.resolve();

  constructor(
    inner: SpanExporter,
    onExported: (spans: readonly ReadableSpan[], isAccepted: boolean, error?: Error) => void,
    maxBytes: number = REQUEST_MAX_BYTES,
  ) {
    this.#inner = inner;
    this.#onExported = onExported;
    this.#maxBytes = maxBytes;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const batches = cut(spans, this.#maxBytes);
    if (batches.length <= 1) {
      this.#exportOne(spans, done);
      return;
    }
    const before = this.#turn;
    this.#turn = (async () => {
      await before;
      let result: ExportResult = { code: SUCCESS };
      for (const batch of batches) {
        const one = await new Promise<ExportResult>((resolve) => this.#exportOne(batch, resolve));
        if (one.code !== SUCCESS) result = one;
      }
      done(result);
    })();
  }

  async forceFlush(): Promise<void> {
    await this.#inner.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #exportOne(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    let isTold = false;
    const tell = (result: ExportResult): void => {
      if (isTold) return;
      isTold = true;
      this.#onExported(spans, result.code === SUCCESS, result.error);
      done(result);
    };
    try {
      this.#inner.export(spans, tell);
    } catch (error) {
      // Where several requests follow one another nobody else would catch it, and an unhandled rejection ends the program.
      tell({ code: FAILED, error: error instanceof Error ? error : new Error(String(error)) });
    }
  }
}

function cut(spans: readonly ReadableSpan[], maxBytes: number): ReadableSpan[][] {
  const batches: ReadableSpan[][] = [];
  let batch: ReadableSpan[] = [];
  let batchBytes = 0;
  for (const span of spans) {
    const size = sizeOf(span);
    if (batch.length > 0 && batchBytes + size > maxBytes) {
      batches.push(batch);
      batch = [];
      batchBytes = 0;
    }
    batch.push(span);
    batchBytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

function sizeOf({ attributes, events }: ReadableSpan): number {
  return events.reduce((sum, event) => sum + textsOf(event.attributes ?? {}), SPAN_BYTES + textsOf(attributes));
}

/** Characters for bytes: large texts are base64, or near enough. */
function textsOf(attributes: ReadableSpan['attributes']): number {
  let size = 0;
  for (const name in attributes) {
    const value = attributes[name];
    size += name.length + (typeof value === 'string' ? value.length : 8);
  }
  return size;
}
