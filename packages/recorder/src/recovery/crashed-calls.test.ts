/** Ends of calls whose process died, made from what the recorder had written by then. */
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import {
  buildCrashedCallSnapshot,
  collectRecords,
  createRedactor,
  decodeSegment,
  encodeRecord,
} from '@orangebox/codec';
import type { CallEndRecord } from '@orangebox/schema';
import { afterEach, expect, it } from 'vitest';
import { semconvNames } from '../otel/gen-ai-attributes.ts';
import { sha256Hex } from '../sha256.ts';
import {
  answer,
  chatRequest,
  chatResponse,
  openExchange,
  play,
  readRecords,
  type Script,
  segmentPaths,
  snapshotOf,
  testRecorder,
  type TestRecorder,
} from '../testing/scripted-exchange.ts';
import { endCrashedCalls } from './crashed-calls.ts';
import { findSeries } from './series-files.ts';
import { SeriesScan } from './series-scan.ts';
import { inSlices } from './slices.ts';

const PACE = { sliceMs: 1000, pause: () => Promise.resolve() };
let boxes: TestRecorder[] = [];

afterEach(() => {
  for (const box of boxes) box.dispose();
  boxes = [];
});

function start(env: Record<string, string> = {}): TestRecorder {
  const box = testRecorder(env);
  boxes.push(box);
  return box;
}

/** What a recovery would write for what stands in the segment now. */
async function ended({ dir }: TestRecorder): Promise<CallEndRecord[]> {
  await written();
  const [series] = await inSlices(findSeries(dir), PACE);
  if (!series) throw new Error('nothing was recorded');
  const scan = new SeriesScan();
  await inSlices(scan.read(series), PACE);
  const records: CallEndRecord[] = [];
  const options = {
    process: scan.process ?? (undefined as never),
    spanContent: { captureContent: false, names: semconvNames([]) },
    redactor: () => createRedactor({ secrets: [], patterns: [] }),
  };
  await inSlices(
    endCrashedCalls(scan, options, (record) => records.push(record)),
    PACE,
  );
  return records;
}

/** Records are written in the turn after the one that makes them. */
const written = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

const ask = { role: 'user', content: 'hi' };
const failed: Script = { status: 500, responseChunks: [new TextEncoder().encode('{}')] };

it('gives the digest that readers compute of a crashed call, where nothing else is known of it', async () => {
  const box = start();
  openExchange(box.recorder, { kind: 'http', url: 'https://api.example.test/other' });
  const [record] = await ended(box);
  const records = box.read();
  const [open] = records.open;
  if (!open || !records.process || !record) throw new Error('nothing is open');
  const crashed = buildCrashedCallSnapshot(open, records.process, sha256Hex);
  expect(record).toMatchObject({
    digest: crashed.digest,
    trace: crashed.trace,
    time: crashed.time,
    fidelity: { level: 'partial', reason: 'process_died' },
    spansBy: 'orangebox',
  });
  expect(record.error).toBeUndefined();
  expect(JSON.stringify(record.spans)).toContain('process_died');
  expect(snapshotOf(records, record).digest).toBe(record.digest);
});

it('calls one exact that was answered whole and only not finished', async () => {
  const box = start();
  play(box.recorder);
  await written();
  const [path = ''] = segmentPaths(box.dir);
  // The process died before the recorder came to write the end.
  const end = [...decodeSegment(readFileSync(path))].find(({ record }) => record.type === 'callEnd');
  truncateSync(path, end?.offset ?? 0);
  const [record] = await ended(box);
  expect(record).toMatchObject({
    fidelity: { level: 'exact' },
    summary: { ending: 'complete', status: 200, model: 'gpt-test', inputTokens: 3 },
    session: { basis: 'inferred', seq: 0 },
  });
  expect(JSON.stringify(record?.spans)).not.toContain('process_died');
});

it('joins a retry to the attempt that failed, and nothing else', async () => {
  const box = start();
  const body = chatRequest([ask]);
  const at = 1_900_000_000_000_000_000n;
  play(box.recorder, { ...failed, requestChunks: [body], startUnixNano: at });
  openExchange(box.recorder, { requestChunks: [body], startUnixNano: at + 500_000_000n });
  openExchange(box.recorder, {
    requestChunks: [chatRequest([{ role: 'user', content: 'other' }])],
    startUnixNano: at + 600_000_000n,
  });
  const records = await ended(box);
  expect(records.map(({ exchangeIds, attemptsBasis }) => [exchangeIds, attemptsBasis])).toEqual([
    [[1, 2], 'inferred'],
    [[3], undefined],
  ]);
  const [retried] = records;
  expect(retried).toMatchObject({ fidelity: { reason: 'process_died' }, summary: { attempts: 2 } });
  expect(retried?.spans).toHaveLength(3);
  expect(new Set([retried?.trace.spanId, ...(retried?.attemptSpanIds ?? [])]).size).toBe(3);
  expect(snapshotOf(collectRecords(readRecords(box.dir)), retried).digest).toBe(retried?.digest);
});

it('joins no request that left before the other had failed', async () => {
  const box = start();
  const body = chatRequest([ask]);
  const at = 1_900_000_000_000_000_000n;
  const first = openExchange(box.recorder, { requestChunks: [body], startUnixNano: at });
  openExchange(box.recorder, { requestChunks: [body], startUnixNano: at + 1000n });
  answer(first, { ...failed, durationNano: 900_000 });
  expect(await ended(box)).toHaveLength(2);
});

it('finds the session of the call that it continues, and counts on from there', async () => {
  const box = start();
  play(box.recorder, { requestChunks: [chatRequest([ask])], responseChunks: [chatResponse('hello')] });
  await box.recorder.flush(1000);
  const [known] = box.read().calls;
  const goOn = [ask, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'and now?' }];
  openExchange(box.recorder, { requestChunks: [chatRequest(goOn)] });
  const [record] = await ended(box);
  expect(known?.session).toBeDefined();
  expect(record?.session).toEqual({ id: known?.session?.id, seq: 1, basis: 'inferred' });
  expect(record?.chain?.before).toBe(known?.chain?.after);
});

it('keeps a declared session, whoever else recovers it', async () => {
  const box = start();
  const context = { session: { id: 'trip-7', userId: 'u' } };
  openExchange(box.recorder, { context });
  openExchange(box.recorder, { context });
  const records = await ended(box);
  expect(records.map(({ session }) => session)).toEqual([
    { id: 'trip-7', userId: 'u', seq: 0, basis: 'declared' },
    { id: 'trip-7', userId: 'u', seq: 1, basis: 'declared' },
  ]);
  expect(await ended(box)).toEqual(records);
});

it('promises nothing where the process kept no bodies', async () => {
  const box = start({ ORANGEBOX_LEVEL: 'metadata' });
  openExchange(box.recorder, {
    requestHeaders: [
      ['content-type', 'application/json'],
      ['content-length', '40'],
    ],
  });
  const [record] = await ended(box);
  expect(record).toMatchObject({ fidelity: { level: 'partial', reason: 'no_storage' } });
  expect(record?.key).toBeUndefined();
});

it('leaves out what sampling forgot', async () => {
  const box = start();
  openExchange(box.recorder);
  openExchange(box.recorder, { requestChunks: [chatRequest([{ role: 'user', content: 'other' }])] });
  await written();
  const [path = ''] = segmentPaths(box.dir);
  appendFileSync(path, encodeRecord({ type: 'forgotten', exchangeIds: [1] }));
  expect((await ended(box)).map(({ exchangeIds }) => exchangeIds)).toEqual([[2]]);
});
