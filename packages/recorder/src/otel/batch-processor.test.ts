import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';
import { expect, it } from 'vitest';
import { BatchProcessor } from './batch-processor.ts';

const LIMITS = { queueSpans: 3, batchSpans: 2, delayMs: 60_000, exportTimeoutMs: 60_000 };

const span = (name: string, traceFlags = 1): ReadableSpan =>
  ({ name, spanContext: () => ({ traceFlags }) }) as unknown as ReadableSpan;

/** Exports end when the test says so. */
function scripted() {
  const exports: { names: string[]; end: () => void }[] = [];
  const exporter: SpanExporter = {
    export: (spans, done) => exports.push({ names: spans.map(({ name }) => name), end: () => done({ code: 0 }) }),
    shutdown: async () => {},
  };
  return { exporter, exports, names: () => exports.map((one) => one.names) };
}

it('exports full batches one after the other, and gives back what no longer fits', async () => {
  const { exporter, exports, names } = scripted();
  const dropped: string[] = [];
  const processor = new BatchProcessor(exporter, LIMITS, ({ name }) => dropped.push(name));
  processor.onEnd(span('unsampled', 0));
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) processor.onEnd(span(name));
  expect(names()).toEqual([['a', 'b']]);
  expect(dropped).toEqual(['f']);
  exports[0]?.end();
  await expect.poll(names).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  const flushed = processor.forceFlush();
  expect(names().at(-1)).toEqual(['e']);
  for (const { end } of exports) end();
  await flushed;
});

it('bears an exporter that throws', async () => {
  const exporter: SpanExporter = {
    export: () => {
      throw new Error('cannot be serialized');
    },
    shutdown: async () => {},
  };
  const processor = new BatchProcessor(exporter, LIMITS);
  for (const name of ['a', 'b', 'c']) processor.onEnd(span(name));
  await processor.shutdown();
});
