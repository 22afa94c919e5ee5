import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  answer,
  chatRequest,
  openExchange,
  play,
  type Script,
  snapshotOf,
  type TestRecorder,
  testRecorder,
} from './testing/scripted-exchange.ts';

let box: TestRecorder;
const start = (): TestRecorder => (box = testRecorder());
afterEach(() => {
  box.dispose();
  vi.useRealTimers();
});

const counted = (n: number): Script => ({ requestHeaders: [['x-stainless-retry-count', String(n)]] });
const at = (n: number, of = 'a'): Script => ({
  ...counted(n),
  requestChunks: [chatRequest([{ role: 'user', content: of }])],
});

describe('attempts of one call', () => {
  it('are joined by the retry count of the SDK', () => {
    start();
    play(box.recorder, { ...counted(0), status: 429 });
    play(box.recorder, { ...counted(1), status: 500 });
    play(box.recorder, { ...counted(2) });
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.attemptsBasis).toBe('retry_header');
    expect(snapshot.exchanges.map((e) => e.response?.status)).toEqual([429, 500, 200]);
    expect(snapshot.exchanges.map((e) => e.attempt)).toEqual([0, 1, 2]);
    expect(new Set(snapshot.exchanges.map((e) => e.spanId)).size).toBe(3);
    expect(snapshot.error).toBeUndefined();
    expect(snapshot.digest).toBe(records.calls[0]?.digest);
    expect(records.calls[0]?.spans).toHaveLength(4);
    const last = snapshot.exchanges[2];
    expect(snapshot.time.endUnixNano).toBe(String(BigInt(last!.startUnixNano) + BigInt(last!.endOffsetNano)));
  });

  it('are joined by rule where no one counts, and marked so', () => {
    start();
    play(box.recorder, { status: 503 });
    play(box.recorder);
    const records = box.finish();
    expect(records.calls).toMatchObject([{ attemptsBasis: 'inferred', exchangeIds: [1, 2] }]);
  });

  it('are told apart for two equal calls in parallel that are both retried', () => {
    start();
    const first = openExchange(box.recorder, counted(0));
    const second = openExchange(box.recorder, counted(0));
    answer(first, { status: 500 });
    answer(second, { status: 500 });
    const retryOfFirst = openExchange(box.recorder, counted(1));
    const retryOfSecond = openExchange(box.recorder, counted(1));
    answer(retryOfSecond);
    answer(retryOfFirst);
    const records = box.finish();
    expect(records.calls.map((call) => call.exchangeIds).sort()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  it('begin again at the first place after a redirect', () => {
    start();
    const place = (path: string): string => `https://a.example.test${path}/chat/completions`;
    const redirect: Script = { url: place('/v1'), status: 307, responseHeaders: [['location', place('/v2')]] };
    play(box.recorder, { ...redirect, ...counted(0) });
    play(box.recorder, { url: place('/v2'), ...counted(0), status: 429 });
    play(box.recorder, { ...redirect, ...counted(1) });
    play(box.recorder, { url: place('/v2'), ...counted(1) });
    expect(box.finish().calls.map((call) => call.exchangeIds)).toEqual([[1, 2, 3, 4]]);
  });

  it('follow a redirect', () => {
    start();
    const from = 'https://a.example.test/v1/chat/completions';
    play(box.recorder, {
      url: from,
      status: 307,
      responseHeaders: [['location', '/v2/chat/completions']],
      responseChunks: [],
    });
    play(box.recorder, { url: 'https://a.example.test/v2/chat/completions' });
    const records = box.finish();
    expect(records.calls).toMatchObject([{ attemptsBasis: 'redirect', exchangeIds: [1, 2] }]);
  });

  it('include one that never connected, whose body nobody saw', () => {
    start();
    play(box.recorder, { sent: false, status: 0, end: { ending: 'connect_failed', stage: 'connect' } });
    play(box.recorder, counted(1));
    expect(box.finish().calls).toMatchObject([{ exchangeIds: [1, 2] }]);
  });

  it('include one that the SDK gave up by its own timeout', () => {
    start();
    play(box.recorder, { ...counted(0), status: 0, end: { ending: 'caller_abort', stage: 'response_head' } });
    play(box.recorder, counted(1));
    expect(box.finish().calls).toMatchObject([{ exchangeIds: [1, 2] }]);
  });
});

describe('separate calls', () => {
  const cases: [string, Script, Script][] = [
    ['of different bodies', { ...at(0, 'a'), status: 500 }, at(1, 'b')],
    ['where the earlier one succeeded', at(0), at(0)],
    ['where the earlier error is final', { ...at(0), status: 400 }, at(0)],
    ['where the counter starts anew', { ...at(2), status: 500 }, at(0)],
    ['of different places', { ...at(0), status: 500, context: { place: {} } }, { ...at(0), context: { place: {} } }],
    ['of different URLs', { ...at(0), status: 500 }, { ...at(0), url: 'https://b.example.test/v1/chat/completions' }],
  ];
  it.each(cases)('%s', (_, first, second) => {
    start();
    play(box.recorder, first);
    play(box.recorder, second);
    expect(box.finish().calls).toHaveLength(2);
  });
});

it('a failed call stays open for its retry, then ends at its true end', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  start();
  play(box.recorder, { status: 429, responseHeaders: [['retry-after', '90']], durationNano: 5_000_000 });
  vi.advanceTimersByTime(89_000);
  expect(box.recorder.stats().open).toBe(1);
  vi.advanceTimersByTime(2000);
  expect(box.recorder.stats().open).toBe(0);
  const [call] = box.finish().calls;
  expect(BigInt(call!.time.endUnixNano) - BigInt(call!.time.startUnixNano)).toBe(5_000_000n);
  expect(call?.error).toMatchObject({ type: '429' });
});
