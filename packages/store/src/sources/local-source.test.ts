import { expect, it, onTestFinished } from 'vitest';
import { ATTR, type Json, type SegmentRecord } from '@orangebox/schema';
import { TestSegments, temporaryDirectory } from '../testing/write-segments.ts';
import { createLocalSource } from './local-source.ts';

const START_MS = Date.UTC(2026, 10, 30, 12);

function write(): { directory: string; traces: string[] } {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  const segments = new TestSegments(path);
  const traces = ['a', 'b', 'a', 'c'].map((digit, i) => {
    const traceId = digit.repeat(32);
    const session = { id: `session-${digit}`, seq: i, basis: 'declared' as const };
    segments.call({ traceId, session, startMs: START_MS + i * 1000, tamper: withSpans, open: i === 3 });
    return traceId;
  });
  segments.close();
  return { directory: path, traces };
}

/** The records with the spans that a recorder writes into them. */
function withSpans(records: SegmentRecord[]): SegmentRecord[] {
  return records.map((record) => {
    if (record.type !== 'callEnd') return record;
    const { traceId, spanId } = record.trace;
    const own: Json = {
      traceId,
      spanId,
      name: 'chat gpt-4o-mini',
      kind: 3,
      startTimeUnixNano: record.time.startUnixNano,
      endTimeUnixNano: record.time.endUnixNano,
      attributes: [
        { key: ATTR.snapshotKey, value: { stringValue: record.key ?? '' } },
        { key: ATTR.sessionId, value: { stringValue: record.session?.id ?? '' } },
        { key: ATTR.sessionSeq, value: { intValue: String(record.session?.seq ?? 0) } },
      ],
      status: { code: 2, message: 'broken' },
    };
    // Recordings are foreign too: what is no span is passed over.
    return { ...record, spans: [own, null, { spanId: 'zz' }, 'x'] };
  });
}

it('gives the spans that the recorder kept, with what the process says of itself', async () => {
  const { directory, traces } = write();
  const source = createLocalSource(directory);
  const spans = await source.trace(traces[0] ?? '');
  expect(spans).toHaveLength(2);
  expect(spans[0]).toMatchObject({
    traceId: traces[0],
    name: 'chat gpt-4o-mini',
    kind: 'client',
    scope: 'orangebox',
    startUnixNano: `${START_MS}000000`,
    status: 'error',
    statusMessage: 'broken',
    attributes: { [ATTR.sessionId]: 'session-a', [ATTR.sessionSeq]: 0 },
    resource: { 'service.name': 'test-service', 'process.pid': expect.any(Number) },
  });
  expect(await source.trace('f'.repeat(32))).toEqual([]);
  expect(await source.trace('c'.repeat(32))).toEqual([]);
});

it('searches by time and attribute, and says when a limit cut it', async () => {
  const { directory } = write();
  const source = createLocalSource(directory);
  const traceIds = async (query: Partial<Parameters<typeof source.search>[0]>): Promise<[string, boolean]> => {
    const { spans, truncated } = await source.search({ sinceUnixMs: START_MS, ...query });
    return [spans.map((span) => span.traceId[0]).join(''), truncated];
  };
  expect(await traceIds({})).toEqual(['aba', false]);
  expect(await traceIds({ sinceUnixMs: START_MS + 1 })).toEqual(['ba', false]);
  expect(await traceIds({ untilUnixMs: START_MS + 2000 })).toEqual(['ab', false]);
  expect(await traceIds({ attributes: { [ATTR.sessionId]: 'session-b' } })).toEqual(['b', false]);
  expect(await traceIds({ serviceName: 'another' })).toEqual(['', false]);
  expect(await traceIds({ traceLimit: 1 })).toEqual(['b', true]);
});
