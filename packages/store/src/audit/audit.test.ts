import { snapshotDigest } from '@orangebox/codec';
import { ATTR, type Snapshot, snapshotKey } from '@orangebox/schema';
import { beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../hash.ts';
import type { ObjectBucket } from '../objects/bucket.ts';
import { createMemoryBucket } from '../objects/memory-bucket.ts';
import { encodePayload } from '../objects/payload.ts';
import type { SourceSpan, SpanQuery, TraceSource } from '../sources/trace-source.ts';
import { envelope } from '../testing/otlp.ts';
import { newSpanId, TestSegments } from '../testing/write-segments.ts';
import { auditBucket } from './audit.ts';
import type { AuditOptions } from './audit-options.ts';
import type { AuditReport, AuditVerdict } from './report.ts';

const NOW = Date.now();
const HOUR = 3_600_000;
const MINUTE = 60_000;

/** A backend with these spans; like a real one it gives whole traces, and at most `limit` of them. */
class Backend implements TraceSource {
  readonly kind = 'jaeger';
  readonly location = 'http://jaeger.test';
  readonly spans: SourceSpan[] = [];
  limit = Number.POSITIVE_INFINITY;
  asked = 0;

  async trace(traceId: string): Promise<SourceSpan[]> {
    this.asked += 1;
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async search({ sinceUnixMs, untilUnixMs = NOW }: SpanQuery): Promise<{ spans: SourceSpan[]; truncated: boolean }> {
    const matches = this.spans.filter((span) => {
      const ms = Number(span.startUnixNano) / 1e6;
      return ms >= sinceUnixMs && ms < untilUnixMs;
    });
    const traces = [...new Set(matches.map((span) => span.traceId))];
    const given = new Set(traces.slice(0, this.limit));
    return { spans: this.spans.filter((span) => given.has(span.traceId)), truncated: traces.length > given.size };
  }
}

let bucket: ObjectBucket;
let backend: Backend;

/** A call of so long ago, with what differs from an ordinary one. */
function call(agoMs: number, change: Partial<Pick<Snapshot, 'trace' | 'session'>> = {}): Snapshot {
  const made = new TestSegments('unused').call({ startMs: NOW - agoMs, spanId: newSpanId() });
  const { chain: _chain, ...snapshot } = { ...made, ...change };
  return { ...snapshot, digest: snapshotDigest(snapshot, sha256) };
}

function unsampled(snapshot: Snapshot): Snapshot {
  const { chain: _chain, ...changed } = { ...snapshot, trace: { ...snapshot.trace, sampled: false } };
  return { ...changed, digest: snapshotDigest(changed, sha256) };
}

function spanOf(snapshot: Snapshot, attributes: Record<string, string> = {}): SourceSpan {
  return {
    traceId: snapshot.trace.traceId,
    spanId: snapshot.trace.spanId,
    name: 'chat',
    ...snapshot.time,
    status: 'unset',
    attributes: { [ATTR.snapshotKey]: snapshotKey(snapshot), ...attributes },
    resource: { 'service.name': 'agent' },
    events: [],
  };
}

async function store(snapshot: Snapshot, key: string = snapshotKey(snapshot)): Promise<string> {
  await bucket.write(`${key}/snapshot.json.gz`, await encodePayload(snapshot));
  return key;
}

/** Recorded, stored and promised. */
async function kept(agoMs: number): Promise<Snapshot> {
  const snapshot = call(agoMs);
  backend.spans.push(spanOf(snapshot));
  await store(snapshot);
  return snapshot;
}

const audit = (options: Partial<AuditOptions> = {}): Promise<AuditReport> =>
  auditBucket(backend, bucket, {
    sinceUnixMs: NOW - HOUR,
    untilUnixMs: NOW,
    nowMs: NOW,
    graceMs: 5 * MINUTE,
    ...options,
  });

const keysOf = (report: AuditReport, verdict: AuditVerdict): string[] =>
  report.findings.filter((finding) => finding.verdict === verdict).map((finding) => finding.key);

const nonZero = (report: AuditReport): Partial<Record<AuditVerdict, number>> =>
  Object.fromEntries(Object.entries(report.counts).filter(([, count]) => count > 0));

beforeEach(() => {
  bucket = createMemoryBucket();
  backend = new Backend();
});

describe('a comparison of spans and objects', () => {
  it('names exactly what was removed, damaged, added and dropped by a sampler among 200', async () => {
    const calls: Snapshot[] = [];
    for (let i = 0; i < 200; i += 1) calls.push(await kept(10 * MINUTE + i * 1000));
    const keys = calls.map((snapshot) => snapshotKey(snapshot));
    const removed = keys.slice(0, 5);
    await bucket.delete(removed.map((key) => `${key}/snapshot.json.gz`));
    const damaged = keys.slice(5, 8);
    await bucket.write(`${damaged[0]}/snapshot.json.gz`, Buffer.from('{"not":"ours"}'));
    const whole = (await bucket.read(`${damaged[1]}/snapshot.json.gz`, 1e9)) as Uint8Array;
    await bucket.write(`${damaged[1]}/snapshot.json.gz`, whole.subarray(0, whole.length - 20));
    await store({ ...(calls[7] as Snapshot), callSite: 'elsewhere.js:1' });
    const added = [
      await store(call(20 * MINUTE)),
      `${keys[9]?.slice(0, 12)}${'a'.repeat(32)}/${'b'.repeat(16)}/${'c'.repeat(16)}`,
    ];
    await store(calls[9] as Snapshot, added[1]);
    const dropped: string[] = [];
    for (let i = 0; i < 4; i += 1) dropped.push(await store(unsampled(call(15 * MINUTE + i))));

    const report = await audit();
    expect(keysOf(report, 'lost')).toEqual([...removed].sort());
    expect(keysOf(report, 'corrupt')).toEqual([...damaged].sort());
    expect(keysOf(report, 'orphaned')).toEqual([...added].sort());
    expect(keysOf(report, 'unsampled')).toEqual([...dropped].sort());
    expect(nonZero(report)).toEqual({ lost: 5, corrupt: 3, orphaned: 2, unsampled: 4 });
    expect(report).toMatchObject({ promised: 200, stored: 192, objects: 201, truncated: false });
    expect(report.findings.filter((f) => f.verdict === 'corrupt').map((f) => f.object)).toEqual(
      [...damaged].sort().map((key) => `${key}/snapshot.json.gz`),
    );
  });

  it('is not misled by the edges of the range: midnight, calls just outside, objects written late', async () => {
    const midnight = Math.floor(NOW / 86_400_000) * 86_400_000;
    const around = (ms: number): Promise<Snapshot> => kept(NOW - (midnight + ms));
    const [before, first] = [await around(-1), await around(0)];
    for (const ms of [-HOUR - 1, -HOUR, HOUR - 1, HOUR]) await around(ms);
    const range = { sinceUnixMs: midnight - HOUR, untilUnixMs: midnight + HOUR, nowMs: midnight + 12 * HOUR };
    const report = await audit(range);
    expect(nonZero(report)).toEqual({});
    expect(report).toMatchObject({ promised: 4, stored: 4, objects: 4 });
    await bucket.delete([before, first].map((snapshot) => `${snapshotKey(snapshot)}/snapshot.json.gz`));
    expect(keysOf(await audit(range), 'lost')).toEqual([before, first].map((snapshot) => snapshotKey(snapshot)).sort());
  });

  it('calls late what ended a moment ago, on both sides', async () => {
    backend.spans.push(spanOf(call(MINUTE)));
    await store(call(2 * MINUTE));
    expect(nonZero(await audit())).toEqual({ late: 1, span_pending: 1 });
    expect(nonZero(await audit({ graceMs: 30_000 }))).toEqual({ lost: 1, orphaned: 1 });
  });

  it('tells parts that are missing from parts that may still come', async () => {
    for (const ago of [MINUTE, 20 * MINUTE]) {
      const snapshot = call(ago);
      backend.spans.push(spanOf(snapshot));
      const payload = await encodePayload(snapshot);
      await bucket.write(
        `${snapshotKey(snapshot)}/part-${sha256(payload).slice(0, 16)}-0000-of-0002`,
        payload.subarray(0, 50),
      );
    }
    expect(nonZero(await audit())).toEqual({ late: 1, incomplete: 1 });
    expect(nonZero(await audit({ quick: true }))).toEqual({ late: 1, incomplete: 1 });
  });

  it('finds the payload that a batching collector put under another key', async () => {
    const [a, b] = [call(20 * MINUTE), call(21 * MINUTE)];
    backend.spans.push(spanOf(a), spanOf(b));
    const parts = await Promise.all([a, b].map(async (s) => ({ key: snapshotKey(s), body: await encodePayload(s) })));
    await bucket.write(`${snapshotKey(a)}/traces.binpb`, envelope(...parts));
    const report = await audit();
    expect(nonZero(report)).toEqual({ mixed: 1, lost: 1 });
    expect(keysOf(report, 'mixed')).toEqual([snapshotKey(a)]);
    expect(report.findings.find((finding) => finding.verdict === 'lost')).toMatchObject({
      key: snapshotKey(b),
      reason: expect.stringContaining(`${snapshotKey(a)}/traces.binpb`),
    });
    // Beside an object that verifies it is found too.
    await store(a);
    expect(nonZero(await audit())).toEqual({ mixed: 1, lost: 1 });
  });

  it('with a tail sampler says of objects without a span that nobody can know, but still finds damage', async () => {
    await kept(30 * MINUTE);
    await store(call(30 * MINUTE));
    const bad = await store(call(31 * MINUTE));
    await bucket.write(`${bad}/snapshot.json.gz`, Buffer.from('gone'));
    expect(nonZero(await audit())).toEqual({ orphaned: 2 });
    expect(nonZero(await audit({ tailSampled: true }))).toEqual({ unsampled_or_orphaned: 1, corrupt: 1 });
  });

  it('takes very many objects without a span for the work of a tail sampler, and says so', async () => {
    for (let i = 0; i < 30; i += 1) await store(call(30 * MINUTE + i));
    const report = await audit();
    expect(report.looksTailSampled).toBe(true);
    expect(nonZero(report)).toEqual({ unsampled_or_orphaned: 30 });
  });

  it('asks again in shorter times when answers are cut, and for single traces where that does not help', async () => {
    for (let i = 0; i < 60; i += 1) await kept(10 * MINUTE + i * 20_000);
    backend.limit = 7;
    expect(await audit()).toMatchObject({ promised: 60, stored: 60, truncated: false });
    for (let i = 0; i < 20; i += 1) await kept(40 * MINUTE);
    const report = await audit();
    expect(report.truncated).toBe(true);
    expect(nonZero(report)).toEqual({});
    expect(report.stored).toBe(80);
    const bounded = await audit({ traceLookups: 3 });
    expect(nonZero(bounded)).toEqual({ unchecked: 20 - 7 - 3 });
  });

  it('asks a backend that always cuts its answers so often and no more, and once where a shorter time does not help', async () => {
    for (const [isFinal, most] of [
      [false, 256],
      [true, 1],
    ] as const) {
      let searches = 0;
      backend.search = async () => {
        searches += 1;
        return { spans: [], truncated: true, isFinal };
      };
      expect((await audit()).truncated).toBe(true);
      expect(searches).toBeLessThanOrEqual(most);
    }
  });

  it('looks the trace up before it calls an object an orphan', async () => {
    const snapshot = await kept(30 * MINUTE);
    const [span] = backend.spans;
    backend.search = () => Promise.resolve({ spans: [], truncated: false });
    expect(await audit()).toMatchObject({ promised: 1, stored: 1 });
    backend.spans[0] = { ...(span as SourceSpan), attributes: {} };
    expect((await audit()).findings).toMatchObject([
      { verdict: 'orphaned', key: snapshotKey(snapshot), reason: 'its span promises no key' },
    ]);
  });

  it('leaves alone what an index or the time of writing puts outside the range, without opening it', async () => {
    const old = await kept(3 * HOUR);
    backend.spans.length = 0;
    let reads = 0;
    const { read } = bucket;
    bucket.read = (name, maxBytes) => {
      reads += 1;
      return read.call(bucket, name, maxBytes);
    };
    const { time, trace, kind, scope, fidelity, digest, process } = old;
    const row = { key: snapshotKey(old), time, trace, kind, scope, fidelity, digest, process, sizeBytes: 1 };
    async function* rows(): AsyncGenerator<typeof row> {
      yield row;
    }
    expect(nonZero(await audit({ indexRows: rows() }))).toEqual({});
    expect(reads).toBe(0);
  });

  it('leaves the canary out, and names what stands under no key and spans whose key is none', async () => {
    const canary = call(10 * MINUTE);
    backend.spans.push({
      ...spanOf(canary, { [ATTR.sessionId]: 'orangebox-canary' }),
      resource: { 'service.name': 'orangebox-canary' },
    });
    const odd = call(10 * MINUTE);
    backend.spans.push(spanOf(odd, { [ATTR.snapshotKey]: '../../etc' }), spanOf(call(9), { [ATTR.snapshotKey]: '' }));
    const day = new Date(NOW - MINUTE).toISOString().slice(0, 10).replaceAll('-', '');
    await bucket.write(`v1/${day}/note.txt`, Buffer.from('x'));
    const report = await audit();
    expect(nonZero(report)).toEqual({ invalid_key: 1, foreign: 1 });
    expect(report).toMatchObject({ canaries: 1, promised: 0 });
  });

  it('counts what the archiver put aside, by reason, and what no index names', async () => {
    const day = new Date(NOW - MINUTE).toISOString().slice(0, 10).replaceAll('-', '');
    for (const [name, reason] of Object.entries({ a: 'digest', b: 'digest', c: 'key', d: '<script>' })) {
      await bucket.write(`quarantine/v1/${day}/${name}.json`, Buffer.from(JSON.stringify({ reason })));
      await bucket.write(`quarantine/v1/${day}/${name}.bin`, Buffer.from('x'));
    }
    const snapshot = await kept(30 * MINUTE);
    const report = await audit({ indexRows: none(), nowMs: NOW + HOUR });
    expect(report.quarantine).toEqual([
      { reason: 'digest', count: 2 },
      { reason: 'key', count: 1 },
      { reason: 'unknown', count: 1 },
    ]);
    expect(report.notIndexed).toEqual({ count: 1, keys: [snapshotKey(snapshot)] });
  });
});

async function* none(): AsyncGenerator<never> {}
