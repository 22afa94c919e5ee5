import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { partObjectName, type Snapshot, snapshotKey } from '@orangebox/schema';
import { sha256 } from '../hash.ts';
import { openStore } from '../open-store.ts';
import type { StoredEntry } from '../store.ts';
import { envelope, framed } from '../testing/otlp.ts';
import { temporaryDirectory, TestSegments } from '../testing/write-segments.ts';
import { createDirectoryStore } from './directory-store.ts';

let base: string;
let remove: () => void;
let call: Snapshot;
let key: string;
let payload: Buffer;

beforeEach(() => {
  ({ path: base, remove } = temporaryDirectory());
  call = new TestSegments(base).call({ attempts: [{ response: ['a body of some length '.repeat(50)] }] });
  key = snapshotKey(call);
  payload = gzipSync(JSON.stringify(call));
});
afterEach(() => remove());

function put(name: string, bytes: Uint8Array | string): void {
  mkdirSync(join(base, key), { recursive: true });
  writeFileSync(join(base, key, name), bytes);
}

function thirds(bytes: Uint8Array): Uint8Array[] {
  const size = Math.ceil(bytes.length / 3);
  return [0, 1, 2].map((i) => bytes.subarray(i * size, (i + 1) * size));
}

const get = (): Promise<Snapshot | undefined> => createDirectoryStore(base).get(key);

describe('the objects under a key', () => {
  it('may be one gzip, written privately and whole or not at all', async () => {
    await createDirectoryStore(base).put(call);
    expect(readdirSync(join(base, key))).toEqual(['snapshot.json.gz']);
    expect(statSync(join(base, key, 'snapshot.json.gz')).mode & 0o777).toBe(0o600);
    expect(statSync(join(base, 'v1')).mode & 0o777).toBe(0o700);
    expect(await get()).toEqual(call);
  });

  it('may be parts; only those of one payload join', async () => {
    const h = sha256(payload);
    const parts = thirds(payload);
    put(partObjectName('f'.repeat(64), 1, 3), 'of another payload');
    put(partObjectName(h, 2, 3), parts[2] as Uint8Array);
    put(partObjectName(h, 0, 3), parts[0] as Uint8Array);
    await expect(get()).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_INCOMPLETE' });
    put(partObjectName(h, 1, 3), parts[1] as Uint8Array);
    expect(await get()).toEqual(call);
    put(partObjectName(h, 1, 3), 'changed');
    await expect(get()).rejects.toMatchObject({ code: expect.stringMatching(/^OBX_SNAPSHOT_(DIGEST|INCOMPLETE)$/) });
  });

  it('may be envelopes: bare or framed, in parts over several objects, key on resource or span, sent twice', async () => {
    const payloadSha256 = sha256(payload);
    const parts = thirds(payload).map((body, index) => ({
      key,
      body,
      index,
      count: 3,
      payloadSha256,
      partSha256: sha256(body),
    }));
    put('traces_2.binpb', envelope(...parts.slice(2)));
    put('traces_1.binpb', framed(envelope(...parts.slice(0, 1)), envelope(...parts.slice(0, 2))));
    expect(await get()).toEqual(call);
    const store = createDirectoryStore(base);
    await store.delete([key]);
    expect(existsSync(join(base, 'v1'))).toBe(false);
    put(
      'traces.binpb',
      envelope(
        { key: 'v1/other', body: payload },
        { key: key.replaceAll('/', '//'), body: payload.toString('base64'), keyOnSpan: true },
      ),
    );
    expect(await get()).toEqual(call);
  });

  it('are passed over while they are wrong and another is right', async () => {
    put('snapshot.json.gz', payload.subarray(0, 100));
    await expect(get()).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_GZIP' });
    put('traces.binpb', envelope({ key, body: payload }));
    put('junk.binpb', Buffer.from([255, 255, 255, 255, 1, 2, 3]));
    expect(await get()).toEqual(call);
    // What stands there already and is right is left alone.
    const before = readdirSync(join(base, key)).length;
    await createDirectoryStore(base).put(call);
    expect(await get()).toEqual(call);
    expect(readdirSync(join(base, key)).length).toBe(before);
  });

  it('are found beside whole payloads that are none, whichever name comes first', async () => {
    const h = sha256(payload);
    // Parts are stored before anybody can tell what they join to: a sender may put anything there, in two sets here.
    const wrong: Uint8Array[] = [];
    for (let n = 0; wrong.length < 2; n += 1) {
      const bytes = gzipSync(`{"schema":"orangebox.snapshot/1","n":${n}}`);
      if (sha256(bytes) < h) wrong.push(bytes);
    }
    for (const bytes of wrong) put(partObjectName(sha256(bytes), 0, 1), bytes);
    await expect(get()).rejects.toMatchObject({ code: expect.stringMatching(/^OBX_SNAPSHOT_/) });
    for (const [i, part] of thirds(payload).entries()) put(partObjectName(h, i, 3), part);
    expect(await get()).toEqual(call);
  });

  it('are found in envelopes beside a body of other bytes that claims the same hash', async () => {
    const claims = { key, index: 0, count: 1, payloadSha256: sha256(payload) };
    put('traces_1.binpb', envelope({ ...claims, body: payload }));
    put('traces_2.binpb', envelope({ ...claims, body: gzipSync('{}') }));
    expect(await get()).toEqual(call);
  });

  it('are said to be wrong in words: digest, version, place, no recording, too large', async () => {
    const faults: [unknown, string][] = [
      [{ ...call, kind: 'http' }, 'OBX_SNAPSHOT_DIGEST'],
      [{ ...call, schema: 'orangebox.snapshot/2' }, 'OBX_SNAPSHOT_VERSION'],
      [new TestSegments(base).call(), 'OBX_SNAPSHOT_DIGEST'],
      [{ hello: 'world' }, 'OBX_SNAPSHOT_NOT_A_RECORDING'],
      [{ ...call, exchanges: 'none' }, 'OBX_SNAPSHOT_SHAPE'],
    ];
    for (const [document, code] of faults) {
      put('snapshot.json.gz', gzipSync(JSON.stringify(document)));
      await expect(get()).rejects.toMatchObject({ code, hint: expect.any(String) });
      const store = createDirectoryStore(base);
      const entries: StoredEntry[] = [];
      for await (const entry of store.list()) entries.push(entry);
      expect(entries).toEqual([]);
      expect(await store.problems()).toMatchObject([{ code }]);
    }
    put('snapshot.json.gz', 'no gzip and no JSON');
    await expect(get()).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_NOT_A_RECORDING' });
  });
});

it('opens a snapshot file by its path, gzipped or not, and an envelope', async () => {
  for (const [name, bytes] of [
    ['a.json', JSON.stringify(call)],
    ['a.json.gz', payload],
    ['a.binpb', envelope({ key, body: payload })],
  ] as const) {
    writeFileSync(join(base, name), bytes);
    const store = await openStore(join(base, name));
    expect(await store.get(key)).toEqual(call);
  }
  expect(readFileSync(join(base, 'a.json'), 'utf8')).toBe(JSON.stringify(call));
});
