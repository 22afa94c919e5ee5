import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryBucket } from '@orangebox/store';
import {
  decodeExportResponse,
  partAttributes,
  partRequest,
  sha256,
  traceRequest,
} from '../../../../test/helpers/otlp-sender.mjs';
import { type ArchiverBench, partsOf, recorded, startBench } from '../testing/archiver-bench.ts';
import { createBucketSnapshotReader } from '../testing/read-back.ts';
import type { ArchiverOptions } from './archiver.ts';

let current: ArchiverBench | undefined;
async function bench(options: Partial<ArchiverOptions> = {}): Promise<ArchiverBench> {
  current = await startBench({ index: false, ...options });
  return current;
}
afterEach(async () => {
  await current?.archiver.stop();
  current = undefined;
});

const good = recorded();
const QUARANTINED = /^quarantine\/v1\/\d{8}\/[0-9a-f]{32}\.(bin|json)$/;

async function reasonOf({ bucket, names }: ArchiverBench): Promise<Record<string, unknown>> {
  const name = (await names()).find((text) => text.endsWith('.json')) ?? '';
  return JSON.parse(Buffer.from((await bucket.read(name, 1e6)) ?? []).toString()) as Record<string, unknown>;
}

describe('what is not what it says to be', () => {
  const key = good.key;
  const keys: Record<string, string | undefined> = {
    'leads out with ..': `../../${key}`,
    'has .. inside': key.replace('v1/', 'v1/../v1/'),
    'is absolute': `/${key}`,
    'ends in a slash': `${key}/`,
    'has a doubled slash': key.replace('/', '//'),
    'is in upper case': key.toUpperCase(),
    'has upper case hex': key.replace(/[0-9a-f]{16}$/, (hex) => hex.replace(/[a-f0-9]/, 'A')),
    'goes on after its end': `${key}/snapshot.json.gz`,
    'is as long as a book': `${key}${'a'.repeat(100_000)}`,
    'ends in a newline': `${key}\n`,
    'begins with a newline': `\n${key}`,
    'has a NUL': key.replace('/', '\0'),
    'has a percent escape': key.replace('/', '%2f'),
    'has a backslash': key.replaceAll('/', '\\'),
    'has other digits': key.replace(/\d/, '٣'),
    'is empty': '',
    'is missing': undefined,
  };
  it.each(Object.entries(keys))('goes to quarantine when its key %s', async (_name, hostile) => {
    const running = await bench();
    const answer = await running.post(partRequest(hostile, good.part));
    expect(answer.status).toBe(200);
    expect(decodeExportResponse(new Uint8Array(await answer.arrayBuffer()))).toMatchObject({
      partialSuccess: { rejectedSpans: 1 },
    });
    const names = await running.names();
    expect(names.filter((name) => !QUARANTINED.test(name))).toEqual([]);
    expect(names).toHaveLength(2);
    expect(await running.metric('quarantined_total{reason="key"}')).toBe(1);
    const { claimed } = (await reasonOf(running)) as { claimed: { key?: string } };
    expect((claimed.key ?? '').length).toBeLessThan(300);
  });

  const changes: [reason: string, name: string, Record<string, string | number | Uint8Array | undefined>][] = [
    ['part_sha256', 'no hash of the part', { 'orangebox.part.sha256': undefined }],
    ['part_sha256', 'another hash of the part', { 'orangebox.part.sha256': 'a'.repeat(64) }],
    ['part_sha256', 'a hash that is none', { 'orangebox.part.sha256': 'a'.repeat(63) }],
    ['payload_sha256', 'another hash of the payload', { 'orangebox.payload.sha256': 'b'.repeat(64) }],
    ['digest', 'no digest', { 'orangebox.snapshot.digest': undefined }],
    ['digest', 'the digest of another snapshot', { 'orangebox.snapshot.digest': recorded().snapshot.digest }],
    [
      'digest',
      'a digest that only begins as the key does',
      { 'orangebox.snapshot.digest': `${good.snapshot.digest.slice(0, 16)}${'0'.repeat(48)}` },
    ],
    ['encoding', 'no encoding', { 'orangebox.snapshot.encoding': undefined }],
    ['encoding', 'another encoding', { 'orangebox.snapshot.encoding': 'zstd' }],
    ['part', 'an index beyond the count', { 'orangebox.part.index': 1 }],
    ['part', 'a negative index', { 'orangebox.part.index': -1 }],
    ['part', 'no parts', { 'orangebox.part.count': 0 }],
    ['part', 'a million parts', { 'orangebox.part.count': 1_000_000 }],
    ['part', 'an index that is text', { 'orangebox.part.index': '0' }],
    ['part', 'an index without a count', { 'orangebox.part.count': undefined }],
    [
      'payload_sha256',
      'several parts of no payload',
      { 'orangebox.part.count': 3, 'orangebox.payload.sha256': undefined },
    ],
  ];
  it.each(changes)('goes to quarantine, %s: %s', async (reason, _name, change) => {
    const running = await bench();
    const answer = await running.post(partRequest(key, good.part, change));
    expect(answer.status).toBe(200);
    expect((await running.names()).filter((name) => !QUARANTINED.test(name))).toEqual([]);
    expect(await running.metric(`quarantined_total{reason="${reason}"}`)).toBe(1);
    expect(await reasonOf(running)).toMatchObject({
      schema: 'orangebox.quarantine/1',
      reason,
      service: 'shop',
      sizeBytes: good.gzip.length,
    });
    const bin = (await running.names()).find((name) => name.endsWith('.bin')) ?? '';
    expect(bin).toContain(sha256(good.gzip).slice(0, 32));
    expect(Buffer.from((await running.bucket.read(bin, 1e6)) ?? []).equals(good.gzip)).toBe(true);
  });

  const json = JSON.stringify(good.snapshot);
  const bodies: [reason: string, name: string, Buffer][] = [
    ['gzip', 'nothing packed', Buffer.from(json)],
    ['gzip', 'a gzip that is cut', good.gzip.subarray(0, -9)],
    ['gzip', 'a gzip with something behind it', Buffer.concat([good.gzip, Buffer.from('more of something else')])],
    ['gzip', 'a gzip with a changed byte', Buffer.from(good.gzip).fill(0, 100, 104)],
    ['gzip', 'a few bytes', Buffer.from([0x1f, 0x8b, 8])],
    ['snapshot', 'other JSON', gzipSync('{"hello":"world"}')],
    ['snapshot', 'no JSON', gzipSync('hello')],
    ['snapshot', 'JSON nested too deep', gzipSync(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)],
    ['digest', 'a changed snapshot', gzipSync(json.replace('test-service', 'best-service'))],
    ['digest', 'the snapshot of another key', recorded().gzip],
  ];
  it.each(bodies)('goes to quarantine, %s: %s', async (reason, _name, bytes) => {
    const running = await bench();
    const answer = await running.post(partRequest(key, { bytes, digest: good.snapshot.digest }));
    expect(answer.status).toBe(200);
    expect((await running.names()).filter((name) => !QUARANTINED.test(name))).toEqual([]);
    expect(await running.metric(`quarantined_total{reason="${reason}"}`)).toBe(1);
  });

  it('does not keep what is right beside it from being stored', async () => {
    const running = await bench();
    const events = [{ attributes: partAttributes(good.part) }];
    const body = traceRequest([
      { attributes: { 'orangebox.snapshot.key': '../x' }, spans: [{ events }] },
      { attributes: { 'orangebox.snapshot.key': key }, spans: [{ events }] },
    ]);
    expect((await running.post(body)).status).toBe(200);
    expect(await running.names()).toContain(`${key}/snapshot.json.gz`);
  });

  it('is refused when resource and span name different keys', async () => {
    const running = await bench();
    const spans = [
      { attributes: { 'orangebox.snapshot.key': recorded().key }, events: [{ attributes: partAttributes(good.part) }] },
    ];
    await running.post(traceRequest([{ attributes: { 'orangebox.snapshot.key': key }, spans }]));
    expect(await running.metric('quarantined_total{reason="key"}')).toBe(1);
  });

  it('is answered 400 and kept nowhere when it has no bytes', async () => {
    const running = await bench();
    for (const body of [new Uint8Array(), undefined, 'no base64 at all!']) {
      const answer = await running.post(partRequest(key, good.part, { 'orangebox.snapshot.body': body }));
      expect(answer.status).toBe(400);
    }
    expect(await running.names()).toEqual([]);
    expect(await running.metric('rejected_total{reason="body"}')).toBe(3);
  });

  it('cannot fill the store: beyond a bound per minute it is counted and answered 400', async () => {
    const running = await bench({ limits: { quarantine: { bytesPerMinute: 1e6, objectsPerMinute: 10 } } });
    const statuses: number[] = [];
    for (let i = 0; i < 50; i += 1) {
      const bytes = randomBytes(100);
      statuses.push((await running.post(partRequest('bad', { bytes, digest: 'a' }))).status);
    }
    // The minute may turn once meanwhile.
    const kept = statuses.filter((status) => status === 200).length;
    expect([10, 20]).toContain(kept);
    expect(statuses.filter((status) => status === 400)).toHaveLength(50 - kept);
    expect(await running.names()).toHaveLength(2 * kept);
    expect(await running.metric('rejected_total{reason="key"}')).toBe(50 - kept);
    expect((await running.post(partRequest(key, good.part))).status).toBe(200);
  });
});

describe('parts that do not belong together', () => {
  it('are kept apart by payload, and none joins those of another', async () => {
    const running = await bench();
    const one = recorded(9000);
    const again = gzipSync(JSON.stringify(one.snapshot), { level: 1 });
    const other = partsOf({ ...one, gzip: again }, 3);
    const parts = partsOf(one, 3);
    for (const part of [parts[0], other[1], parts[2]]) await running.post(partRequest(one.key, part ?? one.part));
    await expect(createBucketSnapshotReader(running.bucket)(one.key)).rejects.toMatchObject({
      code: 'OBX_SNAPSHOT_INCOMPLETE',
    });
    await running.post(partRequest(one.key, parts[1] ?? one.part));
    expect(await createBucketSnapshotReader(running.bucket)(one.key)).toEqual(one.snapshot);
  });

  it('are noted in quarantine when they are complete and do not join', async () => {
    const running = await bench();
    const one = recorded(9000);
    const parts = partsOf(one, 3);
    const wrong = { ...parts[1], bytes: randomBytes(500), digest: one.snapshot.digest };
    for (const part of [parts[0], wrong, parts[2]]) {
      expect((await running.post(partRequest(one.key, part ?? one.part))).status).toBe(200);
    }
    await running.archiver.stop();
    expect(await running.metric('assemblies_total{outcome="mismatch"}')).toBe(1);
    expect(await reasonOf(running)).toMatchObject({ reason: 'assembly', claimed: { key: one.key, partCount: 3 } });
    expect((await running.names()).filter((name) => name.startsWith(one.key))).toHaveLength(3);
  });

  it('go to quarantine when another part has their name: which is right nobody can tell', async () => {
    const running = await bench();
    const one = recorded(9000);
    const [part] = partsOf(one, 3);
    const wrong = { ...part, bytes: randomBytes(500), digest: one.snapshot.digest };
    await running.post(partRequest(one.key, wrong));
    const answer = await running.post(partRequest(one.key, part ?? one.part));
    expect(decodeExportResponse(new Uint8Array(await answer.arrayBuffer())).partialSuccess).toBeDefined();
    expect(await running.metric('quarantined_total{reason="part_conflict"}')).toBe(1);
    expect((await running.names()).filter((name) => QUARANTINED.test(name))).toHaveLength(2);
  });

  it('are stored by two archivers on one bucket as by one, each payload whole', async () => {
    const bucket = createMemoryBucket();
    const a = await bench({ bucket });
    const b = await startBench({ bucket, index: false });
    const all = Array.from({ length: 10 }, () => recorded(5000));
    await Promise.all(
      all.flatMap((one) => partsOf(one, 4).map((part, i) => (i % 2 === 0 ? a : b).post(partRequest(one.key, part)))),
    );
    for (const { key: stored, snapshot } of all) {
      expect(await createBucketSnapshotReader(bucket)(stored)).toEqual(snapshot);
    }
    const whole = recorded();
    await Promise.all(Array.from({ length: 16 }, (_, i) => (i % 2 ? a : b).post(partRequest(whole.key, whole.part))));
    await b.archiver.stop();
    await a.archiver.stop();
    const sum = async (name: string): Promise<number> => (await a.metric(name)) + (await b.metric(name));
    expect(await sum('payloads_total{outcome="duplicate"}')).toBe(15);
    expect(await sum('assemblies_total{outcome="verified"}')).toBeGreaterThanOrEqual(10);
  });
});
