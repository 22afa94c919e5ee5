import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { PAYLOAD_PART_MAX_BYTES } from '@orangebox/schema';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type OtlpReceiver, startOtlpReceiver } from '../../../../test/helpers/otlp-receiver.mjs';
import type { ShipItem } from '../shipper.ts';
import { compressInPieces, compressSnapshot, partsOf, type Payload } from './parts.ts';
import { createShipper } from './payload-shipper.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The same bytes again, cut at every so many of them; each piece is overwritten by the next. */
function cut(bytes: Uint8Array, size: number): () => Iterable<Uint8Array> {
  return function* () {
    const piece = new Uint8Array(size);
    for (let at = 0; at < bytes.length; at += size) {
      const part = bytes.subarray(at, at + size);
      piece.set(part);
      yield piece.subarray(0, part.length);
    }
  };
}

async function gzipOf(payload: Payload): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const { bytes } of partsOf(payload, () => true)) parts.push(Buffer.from(bytes));
  return Buffer.concat(parts);
}

test('a payload in pieces is the same however the JSON is cut, and the one that is made at once', async () => {
  const json = Buffer.from(
    JSON.stringify(Array.from({ length: 40_000 }, (_, n) => ({ n, text: sha256(Buffer.from([n & 255, n >> 8])) }))),
  );
  const whole = await compressSnapshot(json);
  for (const size of [1000, 65_536, 100_001, json.length]) {
    const payload = await compressInPieces(cut(json, size));
    expect(payload.sha256).toBe(whole.sha256);
    expect(payload.partCount).toBe(1);
  }
  expect(gunzipSync(whole.gzip).equals(json)).toBe(true);
});

test('a large one is made again for its parts, which name the whole; those that are there are passed over', async () => {
  const json = randomBytes(PAYLOAD_PART_MAX_BYTES + 3 * 1024 * 1024);
  const payload = await compressInPieces(cut(json, 300_000));
  expect(payload).toMatchObject({ partCount: 2, gzip: new Uint8Array(0) });
  const gzip = await gzipOf(payload);
  expect(sha256(gzip)).toBe(payload.sha256);
  expect(gunzipSync(gzip).equals(json)).toBe(true);
  const { sha256: payloadSha256, partCount } = payload;
  const known = await compressInPieces(cut(json, 65_536), { sha256: payloadSha256, partCount });
  const seen: object[] = [];
  for await (const { bytes, ...part } of partsOf(known, (index) => index > 0)) {
    expect(part.sha256).toBe(sha256(bytes));
    seen.push(part);
  }
  expect(seen).toMatchObject([{ index: 1, count: 2, payloadSha256: sha256(gzip) }]);
});

test('nothing is read ahead of what is sent, and a reader that is left is told', async () => {
  const json = randomBytes(2 * PAYLOAD_PART_MAX_BYTES);
  let readBytes = 0;
  let isClosed = false;
  const pieces = function* (): Generator<Uint8Array> {
    try {
      for (const piece of cut(json, 65_536)()) {
        readBytes += piece.length;
        yield piece;
      }
    } finally {
      isClosed = true;
    }
  };
  const { sha256: payloadSha256, partCount } = await compressInPieces(cut(json, 65_536));
  const payload = await compressInPieces(pieces, { sha256: payloadSha256, partCount });
  for await (const part of partsOf(payload, () => true)) {
    // As a slow endpoint leaves it time to.
    for (let turn = 0; turn < 200; turn++) await nextTurn();
    expect(part.index).toBe(0);
    expect(readBytes).toBeLessThan(PAYLOAD_PART_MAX_BYTES + 1024 * 1024);
    break;
  }
  expect(isClosed).toBe(true);
});

test('it ends when it is given up', async () => {
  const giveUp = new AbortController();
  const pieces = function* (): Generator<Uint8Array> {
    for (;;) {
      yield randomBytes(65_536);
      if (!giveUp.signal.aborted) giveUp.abort(new Error('given up'));
    }
  };
  await expect(compressInPieces(pieces, undefined, giveUp.signal)).rejects.toThrow('given up');
});

test('what reading throws comes through, also in the middle', async () => {
  const pieces = function* (): Generator<Uint8Array> {
    yield randomBytes(200_000);
    throw new Error('segment is damaged');
  };
  await expect(compressInPieces(pieces)).rejects.toThrow('segment is damaged');
});

describe('large items', () => {
  const receivers: OtlpReceiver[] = [];
  afterEach(async () => {
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  });

  let made = 0;
  let open = 0;
  /** Notes how many are read at the same time. */
  function itemOf(json: Buffer, atOnce: number[]): ShipItem {
    const [digest, traceId, spanId] = [sha256(json), 'a'.repeat(32), (++made).toString(16).padStart(16, '0')];
    return {
      key: `v1/20260102/${traceId}/${spanId}/${digest.slice(0, 16)}`,
      digest,
      traceId,
      spanId,
      spanHead: { name: 'chat', kind: 3, startTimeUnixNano: '1', endTimeUnixNano: '2' },
      sizeBytes: json.length,
      readSnapshotJson: () => Promise.reject(new Error('not as a whole')),
      *openSnapshot() {
        yield;
        return function* () {
          atOnce.push(++open);
          try {
            yield* cut(json, 65_536)();
          } finally {
            open--;
          }
        };
      },
    };
  }

  test('are sent one at a time, and tried again after a failure', async () => {
    const receiver = await startOtlpReceiver(({ number }) => ({ status: number % 2 === 1 ? 503 : 200 }));
    receivers.push(receiver);
    const lost: string[] = [];
    const shipper = createShipper(
      { endpoint: receiver.url, endpointHeaders: {}, serviceName: 'shop' },
      { acknowledged: () => undefined, quarantined: () => undefined, report: (code) => void lost.push(code) },
      { firstPauseMs: 1, longestPauseMs: 2 },
    );
    const atOnce: number[] = [];
    const jsons = Array.from({ length: 4 }, (_, i) => Buffer.from(`"${`${i}`.repeat(2_000_000)}"`));
    for (const json of jsons) shipper.offer(itemOf(json, atOnce));
    await vi.waitFor(() => expect(shipper.stats().pending).toBe(0), { timeout: 15_000, interval: 10 });
    expect(shipper.stats()).toMatchObject({ shipped: 4, failed: 0, pending: 0, inFlightBytes: 0 });
    expect(new Set(atOnce)).toEqual(new Set([1]));
    expect(receiver.payloads().map(({ json }) => json?.length)).toEqual(jsons.map(({ length }) => length));
    expect(lost).toEqual([]);
  });
});
