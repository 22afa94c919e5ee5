import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';
import { ATTR } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { payloadEvent } from '../payload-on-span.ts';
import { BoundedExporter } from './bounded-exporter.ts';
import type { FinishedSpan } from './finished-span.ts';
import { PayloadBacklog } from './payload-backlog.ts';

function finished(key: string, bytes = 100): FinishedSpan {
  return {
    trace: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true },
    name: 'chat',
    kind: 'client',
    startUnixNano: 1n,
    endUnixNano: 2n,
    attributes: { [ATTR.snapshotKey]: key },
    status: { code: 'unset' },
    event: payloadEvent('digest', Buffer.alloc(bytes), 'sha'),
  };
}

/** As the SDK would show it. */
const exported = ({ attributes, event }: FinishedSpan): ReadableSpan =>
  ({ attributes, events: event ? [event] : [] }) as unknown as ReadableSpan;

it('flushes when much was added, and takes what was in no export for lost', async () => {
  const told: [keys: readonly string[], isAccepted: boolean][] = [];
  let flushes = 0;
  const backlog = new PayloadBacklog(
    () => {
      flushes++;
      backlog.exported([exported(spans[0]!)], true);
      return Promise.reject(new Error('a batch was refused'));
    },
    (...args) => void told.push(args),
    { flushBytes: 1_000_000, flushSpans: 3, maxBytes: 1_000_000, maxSpans: 3 },
  );
  const spans = ['a', 'b', 'c'].map((key) => finished(key));
  for (const span of spans) {
    expect(flushes).toBe(0);
    expect(backlog.isCongested).toBe(false);
    backlog.added(span);
    backlog.flushIfLarge();
  }
  expect(flushes).toBe(1);
  await new Promise(setImmediate);
  expect(told).toEqual([
    [['a'], true],
    [['b', 'c'], false],
  ]);
  expect(backlog.isCongested).toBe(false);
});

it('is congested by bytes as well', () => {
  const backlog = new PayloadBacklog(
    () => new Promise(() => {}),
    () => {},
    { flushBytes: 10_000, flushSpans: 100, maxBytes: 1000, maxSpans: 100 },
  );
  backlog.added(finished('a', 900));
  expect(backlog.isCongested).toBe(true);
  backlog.exported([exported(finished('a', 900))], true);
  expect(backlog.isCongested).toBe(false);
});

it('cuts a batch by its bytes, sends one request at a time, and tells the worst that happened', async () => {
  const sent: number[] = [];
  let open = 0;
  const inner: SpanExporter = {
    export(spans, done) {
      expect(++open).toBe(1);
      sent.push(spans.length);
      setImmediate(() => {
        open--;
        done({ code: sent.length === 2 ? 1 : 0 });
      });
    },
    shutdown: () => Promise.resolve(),
  };
  const told: [number, boolean][] = [];
  const exporter = new BoundedExporter(inner, (spans, isAccepted) => void told.push([spans.length, isAccepted]), 5000);
  const spans = [1000, 1000, 1000, 9000, 10].map((bytes, i) => exported(finished(String(i), bytes)));
  const result = await new Promise<{ code: number }>((resolve) => exporter.export(spans, resolve));
  expect(sent).toEqual([2, 1, 1, 1]);
  expect(told).toEqual([
    [2, true],
    [1, false],
    [1, true],
    [1, true],
  ]);
  expect(result.code).toBe(1);
});

it('takes an exporter that throws for one that failed, in one request and in several', async () => {
  const told: boolean[] = [];
  const throwing = {
    export: () => {
      throw new Error('cannot be serialized');
    },
  } as unknown as SpanExporter;
  const exporter = new BoundedExporter(throwing, (_spans, isAccepted) => void told.push(isAccepted), 1000);
  const results: (number | undefined)[] = [];
  const spans = ['a', 'b'].map((key) => exported(finished(key, 900)));
  for (const batch of [spans.slice(0, 1), spans, spans])
    results.push(await new Promise((resolve) => exporter.export(batch, ({ code }) => resolve(code))));
  expect(results).toEqual([1, 1, 1]);
  expect(told).toEqual([false, false, false, false, false]);
});
