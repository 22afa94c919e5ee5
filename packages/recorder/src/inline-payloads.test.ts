import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { PAYLOAD } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { RemovedByBoundError } from './retention/moved-records.ts';
import { InlinePayloads } from './inline-payloads.ts';
import type { PayloadOnSpan, PayloadRoom } from './payload-on-span.ts';

const OURS: PayloadRoom = { maxChars: Number.POSITIVE_INFINITY, isAcknowledged: true };
const THEIRS: PayloadRoom = { maxChars: Number.POSITIVE_INFINITY, isAcknowledged: false };

function setUp() {
  let congested = false;
  const reports: string[] = [];
  const ended: [key: string, payload: PayloadOnSpan][] = [];
  const inline = new InlinePayloads({
    isCongested: () => congested,
    report: (code) => void reports.push(code),
  });
  const add = (key: string, options: { room?: PayloadRoom; json?: string; read?: () => Uint8Array } = {}): void => {
    const json = Buffer.from(options.json ?? `{"key":"${key}"}`);
    inline.add({
      key,
      digest: `sha256:${key}`,
      sizeBytes: json.length,
      room: options.room ?? OURS,
      readSnapshotJson: options.read ?? (() => json),
      end: (payload) => void ended.push([key, payload]),
    });
  };
  return { inline, add, ended, reports, congest: (value: boolean) => (congested = value) };
}

const bodyOf = ({ event }: PayloadOnSpan): string =>
  gunzipSync(Buffer.from(String(event?.attributes[PAYLOAD.body]), 'base64')).toString();

it('ends spans in a later turn, oldest first, with what the segment holds', async () => {
  const { inline, add, ended } = setUp();
  for (const key of ['a', 'b', 'c', 'd']) add(key);
  expect(ended).toEqual([]);
  await inline.flush(5000);
  expect(ended.map(([key]) => key).sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(ended.map(([, payload]) => bodyOf(payload)).sort()[0]).toBe('{"key":"a"}');
  expect(inline.stats()).toMatchObject({ offered: 4, shipped: 0, failed: 0, pending: 4, inFlightBytes: 0 });
  inline.exported(['a', 'b', 'c'], true);
  inline.exported(['d'], false);
  expect(inline.stats()).toMatchObject({ shipped: 3, failed: 1, pending: 0 });
});

it("ends an application's spans at once when its provider stops, each once, and leaves our own", async () => {
  const { inline, add, ended } = setUp();
  for (const key of ['a', 'b', 'c']) add(key, { room: THEIRS });
  add('ours');
  inline.drainSync(Number.POSITIVE_INFINITY);
  expect(ended.map(([key]) => key)).toEqual(['a', 'b', 'c']);
  expect(bodyOf(ended[0]![1])).toBe('{"key":"a"}');
  await inline.flush(5000);
  expect(ended.map(([key]) => key)).toEqual(['a', 'b', 'c', 'ours']);
  // What became of the application's nobody will say.
  expect(inline.stats()).toMatchObject({ pending: 1, failed: 0 });
});

it('waits while exports are behind, and goes on when they are not', async () => {
  const { inline, add, ended, congest } = setUp();
  congest(true);
  add('a');
  await inline.flush(20);
  expect(ended).toEqual([]);
  expect(inline.stats().oldestUnsentMs).toBeGreaterThan(0);
  congest(false);
  inline.exported([], true);
  await inline.flush(5000);
  expect(ended).toHaveLength(1);
});

it('ends spans without a payload that cannot travel, and counts why', async () => {
  const { inline, add, ended, reports } = setUp();
  const gone = (): never => {
    throw new Error('the segment is gone');
  };
  add('limited', { room: { ...OURS, maxChars: 10 } });
  add('gone', { read: gone });
  add('gone-at-once', { read: gone, room: THEIRS });
  // Counted by the bound that took it.
  const taken = (): never => {
    throw new RemovedByBoundError('removed');
  };
  add('taken', { read: taken });
  inline.drainSync(Number.POSITIVE_INFINITY);
  await inline.flush(5000);
  const reasons = Object.fromEntries(ended.map(([key, { keptLocal }]) => [key, keptLocal]));
  expect(reasons).toEqual({
    limited: 'value_limit',
    gone: 'unreadable',
    'gone-at-once': 'unreadable',
    taken: 'unreadable',
  });
  expect(reports.sort()).toEqual(['inline_unreadable', 'inline_unreadable', 'inline_value_limit']);
  expect(inline.stats()).toMatchObject({ failed: 4, pending: 0 });
});

it('holds no more than ten thousand spans back', () => {
  const { add, ended, congest } = setUp();
  congest(true);
  for (let i = 0; i < 10_002; i++) add(`${i}`);
  expect(ended).toEqual([
    ['10000', { keptLocal: 'queue_full' }],
    ['10001', { keptLocal: 'queue_full' }],
  ]);
});

it('makes a large snapshot in pieces, and leaves one off that is too large for a span', async () => {
  const { inline, ended, reports } = setUp();
  const jsons = [Buffer.from(`"${'a'.repeat(2_000_000)}"`), randomBytes(9 * 1024 * 1024)];
  for (const [i, json] of jsons.entries()) {
    inline.add({
      key: `large-${i}`,
      digest: '',
      sizeBytes: json.length,
      room: OURS,
      readSnapshotJson: () => {
        throw new Error('not as a whole');
      },
      *openSnapshot() {
        yield;
        return () => [json.subarray(0, 1_000_000), json.subarray(1_000_000)];
      },
      end: (payload) => void ended.push([`large-${i}`, payload]),
    });
  }
  await inline.flush(15_000);
  const [first, second] = ended.sort(([a], [b]) => a.localeCompare(b));
  expect(first && bodyOf(first[1]) === String(jsons[0])).toBe(true);
  expect(second?.[1]).toEqual({ keptLocal: 'too_large' });
  expect(reports).toEqual(['inline_too_large']);
});
