import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createBucketSnapshotReader } from '../testing/read-back.ts';
import {
  decodeExportResponse,
  decodeStatus,
  partAttributes,
  partRequest,
  sha256,
  traceRequest,
} from '../../../../test/helpers/otlp-sender.mjs';
import { type ArchiverBench, partsOf, recorded, startBench } from '../testing/archiver-bench.ts';
import type { ArchiverOptions } from './archiver.ts';

const running: ArchiverBench[] = [];
async function bench(options: Partial<ArchiverOptions> = {}): Promise<ArchiverBench> {
  const started = await startBench(options);
  running.push(started);
  return started;
}
afterEach(async () => {
  for (const { archiver } of running.splice(0)) await archiver.stop();
});

describe('a payload in one part', () => {
  it('is stored under its key, verified, as the very bytes that were sent', async () => {
    const { post, names, bucket, metric } = await bench();
    const { key, part, gzip, snapshot } = recorded();
    const answer = await post(partRequest(key, part));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-protobuf']);
    expect(new Uint8Array(await answer.arrayBuffer())).toHaveLength(0);
    expect(await names()).toEqual([`${key}/snapshot.json.gz`]);
    expect(Buffer.from((await bucket.read(`${key}/snapshot.json.gz`, 1e9)) ?? []).equals(gzip)).toBe(true);
    expect(await createBucketSnapshotReader(bucket)(key)).toEqual(snapshot);
    expect(await metric('payloads_total{outcome="stored"}')).toBe(1);
    expect(await metric('payload_bytes_total')).toBe(gzip.length);
  });

  it.each(['gzip', 'deflate', 'identity'] as const)('may come in a body with content encoding %s', async (encoding) => {
    const { post, names } = await bench();
    const { key, part } = recorded();
    const body = partRequest(key, part);
    const packed = { gzip: gzipSync, deflate: deflateSync, identity: (bytes: Buffer) => bytes }[encoding](body);
    expect((await post(packed, { 'content-encoding': encoding })).status).toBe(200);
    expect(await names()).toEqual([`${key}/snapshot.json.gz`]);
  });

  it('may come as OTLP/JSON, with the body as bytes or as base64 text, and with the key on the span', async () => {
    const { post, names } = await bench();
    const json = { 'content-type': 'application/json; charset=utf-8' };
    const [a, b] = [recorded(), recorded()];
    const answer = await post(partRequest(a.key, a.part, {}, { json: true }), json);
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    const base64 = { 'orangebox.snapshot.body': b.gzip.toString('base64') };
    const events = [{ attributes: partAttributes(b.part, base64) }];
    const onSpan = [{ spans: [{ attributes: { 'orangebox.snapshot.key': b.key }, events }] }];
    expect((await post(traceRequest(onSpan, { json: true }), json)).status).toBe(200);
    expect((await post(traceRequest(onSpan))).status).toBe(200);
    expect(await names()).toEqual([a.key, b.key].map((key) => `${key}/snapshot.json.gz`).sort());
  });

  it('may come beside others and beside spans without one', async () => {
    const { post, names, metric } = await bench();
    const all = Array.from({ length: 40 }, () => recorded());
    const resources = all.map(({ key, part }) => ({
      attributes: { 'orangebox.snapshot.key': key },
      spans: [{ events: [{ attributes: partAttributes(part) }] }, { events: [{ name: 'exception' }] }],
    }));
    expect((await post(traceRequest(resources))).status).toBe(200);
    expect(await names()).toHaveLength(40);
    expect(await metric('ignored_spans_total')).toBe(40);
  });

  it('is written once however often it comes at once, and a duplicate is a success', async () => {
    const { post, names, metric } = await bench();
    const { key, part } = recorded();
    const answers = await Promise.all(Array.from({ length: 16 }, () => post(partRequest(key, part))));
    expect(answers.map((answer) => answer.status)).toEqual(Array(16).fill(200));
    expect(await names()).toEqual([`${key}/snapshot.json.gz`]);
    expect(await metric('payloads_total{outcome="stored"}')).toBe(1);
    expect(await metric('payloads_total{outcome="duplicate"}')).toBe(15);
  });

  it('leaves another right object alone, and replaces a damaged one', async () => {
    const { post, bucket, metric } = await bench();
    const { key, part, snapshot, gzip } = recorded();
    const name = `${key}/snapshot.json.gz`;
    const other = gzipSync(JSON.stringify(snapshot), { level: 1 });
    await bucket.write(name, other);
    expect((await post(partRequest(key, part))).status).toBe(200);
    expect(Buffer.from((await bucket.read(name, 1e9)) ?? []).equals(other)).toBe(true);
    expect(await metric('payloads_total{outcome="conflict"}')).toBe(1);
    for (const damaged of [gzip.subarray(0, 50), Buffer.from('nothing'), recorded().gzip]) {
      await bucket.write(name, damaged);
      expect((await post(partRequest(key, part))).status).toBe(200);
      expect(Buffer.from((await bucket.read(name, 1e9)) ?? []).equals(gzip)).toBe(true);
    }
    expect(await metric('payloads_total{outcome="repaired"}')).toBe(3);
  });
});

describe('a payload in several parts', () => {
  it('is stored part by part in any order, and verified when all are there', async () => {
    const { post, names, bucket, metric, archiver } = await bench();
    const one = recorded(30_000);
    const parts = partsOf(one, 3);
    for (const index of [2, 0, 0, 1]) {
      expect((await post(partRequest(one.key, parts[index] ?? one.part))).status).toBe(200);
    }
    const h = sha256(one.gzip).slice(0, 16);
    expect(await names()).toEqual([0, 1, 2].map((i) => `${one.key}/part-${h}-000${i}-of-0003`));
    expect(await createBucketSnapshotReader(bucket)(one.key)).toEqual(one.snapshot);
    await archiver.stop();
    expect(await metric('assemblies_total{outcome="verified"}')).toBe(1);
    expect(await metric('payloads_total{outcome="duplicate"}')).toBe(1);
  });
});

describe('answers', () => {
  it('say in the encoding of the request what is wrong', async () => {
    const { post } = await bench();
    const bad = await post(randomBytes(100));
    expect([bad.status, bad.headers.get('content-type')]).toEqual([400, 'application/x-protobuf']);
    expect(decodeStatus(new Uint8Array(await bad.arrayBuffer()))).toMatchObject({
      code: 3,
      message: expect.stringContaining('cannot be read'),
    });
    const json = await post(Buffer.from('{"resourceSpans":3}'), { 'content-type': 'application/json' });
    expect([json.status, await json.json()]).toMatchObject([400, { code: 3 }]);
    const { key, part } = recorded();
    const partial = await post(partRequest(key, part, { 'orangebox.part.sha256': 'a'.repeat(64) }));
    expect(partial.status).toBe(200);
    expect(decodeExportResponse(new Uint8Array(await partial.arrayBuffer()))).toEqual({
      partialSuccess: { rejectedSpans: 1, errorMessage: expect.stringContaining('part_sha256') },
    });
  });
});
