import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CallEndRecord, SegmentRecord, ToolRecord } from '@orangebox/schema';
import {
  buildCallSnapshot,
  buildCrashedCallSnapshot,
  buildMeasuredCall,
  buildToolSnapshot,
  type CollectedRecords,
  collectRecords,
  concatBytes,
  decodeBody,
  decodeSegment,
  encodeRecord,
  encodeSegmentHeader,
  snapshotDigest,
  snapshotShapeError,
  utf8,
  verifySnapshotDigest,
} from './index.ts';
import { SAMPLE_PROCESS, sampleChunk, sampleRecords, sampleStart } from './testing/sample-records.ts';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

function exchangesOf(collected: CollectedRecords, call: CallEndRecord) {
  return call.exchangeIds.flatMap((id) => collected.exchanges.get(id) ?? []);
}

function firstCall(records: readonly SegmentRecord[]) {
  const collected = collectRecords(records);
  const call = collected.calls[0];
  if (!call) throw new Error('the sample has a call');
  const exchanges = exchangesOf(collected, call);
  return { call, exchanges, snapshot: buildCallSnapshot({ call, exchanges, process: SAMPLE_PROCESS }, sha256) };
}

function throughFile(records: readonly SegmentRecord[]): SegmentRecord[] {
  const file = concatBytes([encodeSegmentHeader(), ...records.map((record) => encodeRecord(record))]);
  return [...decodeSegment(file)].map((frame) => frame.record);
}

describe('assembling', () => {
  it('gives a reader the very snapshot that the recorder made', () => {
    const records = sampleRecords();
    expect(firstCall(throughFile(records)).snapshot).toEqual(firstCall(records).snapshot);
  });

  it('joins a body from its chunks and keeps their sizes, times and order', () => {
    const { snapshot } = firstCall(sampleRecords());
    const response = snapshot.exchanges[1]?.response;
    expect(response?.body).toMatchObject({ form: 'text', text: expect.stringContaining('☀ 21 °C') });
    expect(response?.chunks).toEqual([
      { sizeBytes: 40, offsetNano: '4000000', delivery: 4 },
      { sizeBytes: expect.any(Number), offsetNano: '5000000', delivery: 5, wireSizeBytes: 99 },
    ]);
    const sizes = response?.chunks.map((chunk) => chunk.sizeBytes) ?? [];
    expect(sizes.reduce((a, b) => a + b, 0)).toBe(response?.body.sizeBytes);
  });

  it('joins attempts under their span ids and merges what was redacted', () => {
    const { snapshot } = firstCall(sampleRecords());
    expect(snapshot.exchanges.map(({ attempt, spanId }) => [attempt, spanId])).toEqual([
      [0, 'cccccccccccccc01'],
      [1, 'cccccccccccccc02'],
    ]);
    expect(snapshot.redactions).toContainEqual({ where: 'url', token: '{{secret:key}}', count: 2 });
    expect(snapshot.redactions).toHaveLength(4);
    expect(snapshot.fidelity).toEqual({ level: 'exact' });
  });

  it('makes documents that fit the published schema', () => {
    const collected = collectRecords(sampleRecords());
    const [open] = collected.open;
    const [tool] = collected.tools;
    if (!open || !tool) throw new Error('the sample has both');
    const snapshots = [
      firstCall(sampleRecords()).snapshot,
      buildToolSnapshot(tool, SAMPLE_PROCESS, sha256),
      buildCrashedCallSnapshot(open, SAMPLE_PROCESS, sha256),
    ];
    for (const snapshot of snapshots) {
      expect(snapshotShapeError(JSON.parse(JSON.stringify(snapshot)))).toBeUndefined();
      expect(verifySnapshotDigest(snapshot, sha256)).toBe(true);
    }
  });

  it('says of an exchange without an end that the process died, and how far it had come', () => {
    const [open] = collectRecords(sampleRecords()).open;
    if (!open) throw new Error('the sample has one');
    const snapshot = buildCrashedCallSnapshot(open, SAMPLE_PROCESS, sha256);
    expect(snapshot).toMatchObject({
      id: open.start.trace.spanId,
      fidelity: { level: 'partial', reason: 'process_died' },
      exchanges: [{ ending: 'process_died', stage: 'request', endOffsetNano: '700', request: { sent: false } }],
    });
    expect(decodeBody(snapshot.exchanges[0]?.request.body ?? { form: 'empty', sizeBytes: 0 })).toEqual(
      Uint8Array.from([0xff, 0x00, 0x1f]),
    );
  });

  it('is partial when an exchange of the call is not on record any more', () => {
    const records = sampleRecords().filter((r) => !('exchangeId' in r) || r.exchangeId !== 1);
    expect(firstCall(records).snapshot.fidelity).toEqual({ level: 'partial', reason: 'no_storage' });
    const orphaned = sampleRecords().filter((r) => !(r.type === 'exchangeStart' && r.exchangeId === 1));
    expect(collectRecords(orphaned).orphans).toEqual(new Set([1]));
    expect(firstCall(orphaned).snapshot.fidelity.level).toBe('partial');
  });

  it('is partial when a body was cut at the limit', () => {
    const records = sampleRecords().map((r) =>
      r.type === 'exchangeEnd' && r.exchangeId === 2 ? { ...r, truncated: { response: true as const } } : r,
    );
    expect(firstCall(records).snapshot.fidelity).toEqual({ level: 'partial', reason: 'body_limit' });
  });

  it('of 200,000 chunks takes no time that grows with their square', () => {
    const records: SegmentRecord[] = [sampleStart(1)];
    const bytes = utf8('x'.repeat(50));
    for (let i = 0; i < 200_000; i++) records.push(sampleChunk('responseChunk', 1, bytes, i, i + 1));
    const start = performance.now();
    const [open] = collectRecords(records).open;
    if (!open) throw new Error('the exchange is open');
    expect(buildCrashedCallSnapshot(open, SAMPLE_PROCESS, sha256).exchanges[0]?.endOffsetNano).toBe('199999');
    // Joining the body anew for each chunk would copy 10^12 bytes.
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe('the digest', () => {
  const { snapshot } = firstCall(sampleRecords());

  it('comes with the size of the JSON, whatever the bodies hold', () => {
    const { call, exchanges } = firstCall(sampleRecords());
    const bodies = ['', 'plain', '"quoted\\"\n\u0001\u007f\u2028 Grüße 🍊', '{"a":"\\ud800"}'].map(utf8);
    const all = utf8(
      Array.from({ length: 300 }, (_, code) => String.fromCodePoint(code))
        .join('a')
        .repeat(2),
    );
    // Wherever in its buffer a body begins, and however short it is.
    for (let at = 0; at < 5; at++) {
      bodies.push(concatBytes([utf8('x'.repeat(at)), all]).subarray(at));
      for (let size = 1; size < 9; size++) bodies.push(utf8('"\n\\x"y\u0001z"'.repeat(2)).subarray(at, at + size));
    }
    for (const bytes of [...bodies, Uint8Array.of(0xff, 0xfe)]) {
      const answered = exchanges.map((e) => ({ ...e, responseChunks: [sampleChunk('responseChunk', 1, bytes, 4000)] }));
      const input = { call, exchanges: answered, process: SAMPLE_PROCESS };
      const { snapshot, sizeBytes } = buildMeasuredCall(input, sha256);
      expect(sizeBytes).toBe(utf8(JSON.stringify(snapshot)).length);
    }
  });

  it('does not change with the form of a body', () => {
    const [first, second] = snapshot.exchanges;
    if (!first || !second) throw new Error('the sample has two');
    const bytes = decodeBody(first.request.body);
    const base64 = Buffer.from(bytes).toString('base64');
    const other = {
      ...snapshot,
      exchanges: [
        { ...first, request: { ...first.request, body: { form: 'base64' as const, sizeBytes: bytes.length, base64 } } },
        second,
      ],
    };
    expect(snapshotDigest(other, sha256)).toBe(snapshot.digest);
  });

  it('does not change with derived members or the order of members', () => {
    const views = { chain: { before: 'x' }, nextMessages: [], call: { operation: 'chat' } as never };
    const turned = Object.fromEntries(Object.entries({ ...views, ...snapshot }).toReversed());
    expect(snapshotDigest(turned as unknown as typeof snapshot, sha256)).toBe(snapshot.digest);
  });

  it('changes with everything else', () => {
    expect(verifySnapshotDigest({ ...snapshot, metadata: { plan: 'paid' } }, sha256)).toBe(false);
    expect(verifySnapshotDigest({ ...snapshot, unknown: 1 } as typeof snapshot, sha256)).toBe(false);
    const [first] = snapshot.exchanges;
    if (!first) throw new Error('the sample has one');
    const request = { ...first.request, body: { form: 'text' as const, sizeBytes: 1, text: 'x' } };
    expect(verifySnapshotDigest({ ...snapshot, exchanges: [{ ...first, request }] }, sha256)).toBe(false);
  });

  it('is false, not an error, for a document that does not decode', () => {
    expect(verifySnapshotDigest({ ...snapshot, exchanges: [{}] as never }, sha256)).toBe(false);
  });
});

it('keeps what was shipped and dropped, and whether the file was closed', () => {
  const end = { type: 'segmentEnd', endUnixNano: '5', rotated: false } as const;
  const collected = collectRecords([
    { type: 'dropped', reason: 'memory_limit', count: 1 },
    { type: 'shipped', key: 'k' },
    { type: 'quarantined', key: 'q', reason: 'status 413', atUnixNano: '4' },
    { type: 'spansSent', spanIds: ['a', 'b'] },
    { type: 'dropped', reason: 'memory_limit', count: 3 },
    end,
  ]);
  expect(collected.dropped.get('memory_limit')?.count).toBe(3);
  expect(collected.shipped).toEqual(new Set(['k']));
  expect(collected.quarantined.get('q')?.reason).toBe('status 413');
  expect(collected.spansSent).toEqual(new Set(['a', 'b']));
  expect(collected.closed).toEqual(end);
  const tools: ToolRecord[] = collected.tools;
  expect(tools).toEqual([]);
});

it('passes over exchanges that were forgotten', () => {
  const records = sampleRecords();
  const ids = records.flatMap((record) => (record.type === 'exchangeStart' ? [record.exchangeId] : []));
  const begun = records.filter((record) => record.type !== 'callEnd');
  expect(collectRecords(begun).open.length).toBe(ids.length);
  expect(collectRecords([...begun, { type: 'forgotten', exchangeIds: ids }]).open).toEqual([]);
});
