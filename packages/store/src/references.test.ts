import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Snapshot, snapshotKey } from '@orangebox/schema';
import { findSessionId, resolveOne, resolveReference } from './references.ts';
import { createSegmentStore } from './segments/segment-store.ts';
import { ShortRefs } from './short-refs.ts';
import type { SnapshotStore } from './store.ts';
import { temporaryDirectory, TestSegments } from './testing/write-segments.ts';

let directory: string;
let remove: () => void;
let file: string;
let calls: Snapshot[];
let store: SnapshotStore;
const trace = 'd'.repeat(32);
const session = { id: 'my session/1', seq: 0, basis: 'declared' as const };

beforeAll(() => {
  ({ path: directory, remove } = temporaryDirectory());
  const segments = new TestSegments(directory);
  calls = [
    segments.call({ spanId: 'abcdef0000000001', traceId: trace, session, startMs: 1e12 }),
    segments.call({ spanId: 'abcdef0000000002', traceId: trace, session: { ...session, seq: 1 }, startMs: 1e12 + 1 }),
    segments.call({
      spanId: '1234567890abcdef',
      startMs: 1e12 + 2,
      attempts: [{ status: 429, response: ['{}'] }, { status: 200 }],
    }),
    segments.tool({}, { startMs: 1e12 + 3 }),
  ];
  file = segments.close();
  store = createSegmentStore(directory);
});
afterAll(() => remove());

const ids = async (text: string): Promise<string[]> =>
  (await resolveReference(text, { store, cwd: directory })).entries.map((entry) => entry.trace.spanId);
const id = (i: number): string => calls[i]?.id ?? '';

it('last is no canary, which nobody called and which is deleted when it has arrived', async () => {
  const { path, remove: removeIt } = temporaryDirectory();
  const segments = new TestSegments(path);
  segments.call({ spanId: '1'.repeat(16), startMs: 1e12 });
  const canary = { id: 'orangebox-canary', seq: 0, basis: 'declared' as const };
  segments.call({ spanId: '2'.repeat(16), session: canary, startMs: 1e12 + 1 });
  segments.close();
  const here = createSegmentStore(path);
  try {
    expect((await resolveOne('last', { store: here })).entry.trace.spanId).toBe('1'.repeat(16));
  } finally {
    await here.close();
    removeIt();
  }
});

describe('a session id', () => {
  it('may be shortened as lists shorten it', async () => {
    const { path, remove: removeIt } = temporaryDirectory();
    const segments = new TestSegments(path);
    const named = (sessionId: string, spanId: string): Snapshot =>
      segments.call({ spanId, session: { id: sessionId, seq: 0, basis: 'inferred' } });
    named('0e808abf28091afa117a27d1c82c4c0f', '1'.repeat(16));
    named('7d444840-9dc0-11d1-b245-5ffdce74fad2', '2'.repeat(16));
    named('7d444840-9dc0-11d1-b245-5ffdce74fad3', '3'.repeat(16));
    segments.close();
    const here = createSegmentStore(path);
    try {
      const found = await resolveReference('0E808ABF', { store: here, cwd: path });
      expect(found.kind).toBe('session');
      expect(found.entries.map((entry) => entry.trace.spanId)).toEqual(['1'.repeat(16)]);
      expect(await findSessionId('0e808', here)).toBeUndefined();
      expect(await findSessionId('7d444840-9dc0-11d1-b245-5ffdce74fad3', here)).toMatch(/3$/);
      await expect(resolveReference('7d444840', { store: here, cwd: path })).rejects.toMatchObject({
        code: 'OBX_REF_AMBIGUOUS',
        message: '"7d444840" fits 2 sessions',
      });
    } finally {
      await here.close();
      removeIt();
    }
  });
});

describe('a reference', () => {
  it('may be a short ref, span id, attempt, key, trace, traceparent, session, file or last', async () => {
    const retried = calls[2] as Snapshot;
    const key = snapshotKey(retried);
    for (const text of [
      '123456',
      '1234567890abcdef',
      '1234567890ABCDEF',
      ' 123456789 ',
      key,
      `//${key.replaceAll('/', '//')}/`,
    ]) {
      expect([text, await ids(text)]).toEqual([text, [id(2)]]);
    }
    expect(await ids(retried.exchanges[0]?.spanId ?? '')).toEqual([id(2)]);
    expect(await ids(trace)).toEqual([id(0), id(1)]);
    expect(await ids(`00-${trace}-${id(1)}-01`)).toEqual([id(1)]);
    expect(await ids(`${trace}:${id(0)}`)).toEqual([id(0)]);
    expect(await ids('my session/1')).toEqual([id(0), id(1)]);
    expect(await ids('last')).toEqual([id(2)]);
    expect(await ids(file)).toHaveLength(4);
    writeFileSync(join(directory, 'one.json'), JSON.stringify(calls[0]));
    expect(await ids('one.json')).toEqual([id(0)]);
  });

  it('that fits several says which, and one that fits nothing says what to do', async () => {
    const faults: [string, string][] = [
      ['abcdef', 'OBX_REF_AMBIGUOUS'],
      ['ffffffff', 'OBX_REF_UNKNOWN'],
      ['abc', 'OBX_REF_TOO_SHORT'],
      ['', 'OBX_REF_UNKNOWN'],
      ['no such session', 'OBX_REF_UNKNOWN'],
      ['./nowhere.json', 'OBX_REF_UNKNOWN'],
      ['s3://bucket/key', 'OBX_REF_UNSUPPORTED'],
      [`v1/20260101/${trace}/${'a'.repeat(16)}/${'b'.repeat(16)}`, 'OBX_REF_UNKNOWN'],
      [basename(file), 'OBX_REF_UNKNOWN'],
      ['\u001b[31mred\u0000', 'OBX_REF_UNKNOWN'],
    ];
    for (const [text, code] of faults) {
      const error: unknown = await ids(text).catch((caught: unknown) => caught);
      expect([text, error]).toMatchObject([text, { code, hint: expect.any(String) }]);
      // biome-ignore lint: control characters are what is looked for
      expect((error as Error).message).not.toMatch(/[\u0000-\u001f]/);
    }
    await expect(ids('abcdef')).rejects.toMatchObject({ hint: expect.stringContaining('abcdef0000000001') });
    await expect(resolveOne(trace, { store })).rejects.toMatchObject({ code: 'OBX_REF_AMBIGUOUS' });
    expect((await resolveOne('last', { store })).entry.trace.spanId).toBe(id(2));
  });

  it('to an empty store says how to record', async () => {
    const empty = createSegmentStore(join(directory, 'empty'));
    await expect(resolveReference('last', { store: empty })).rejects.toMatchObject({
      code: 'OBX_REF_NOTHING_RECORDED',
      hint: expect.stringContaining('orangebox run'),
    });
  });
});

it('a short ref is six digits, and longer only where it must be', () => {
  const refs = new ShortRefs(['abcdef0000000001', 'abcdef0000000002', '1234567890abcdef', '1234560000000000']);
  expect(refs.of('1234567890abcdef')).toBe('1234567');
  expect(refs.of('abcdef0000000001')).toBe('abcdef0000000001');
  expect(new ShortRefs(['1234567890abcdef']).of('1234567890abcdef')).toBe('123456');
  expect(refs.withPrefix('123456')).toHaveLength(2);
});
