import { createHash, randomBytes } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import {
  type Behaviour,
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from '../../../../test/helpers/otlp-receiver.mjs';
import type { ShipItem } from '../shipper.ts';
import { compressSnapshot, compressSnapshotNow } from './parts.ts';
import { createShipper, type ShipperLimits } from './payload-shipper.ts';

const receivers: OtlpReceiver[] = [];

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

async function setUp(behave?: Behaviour, limits: Partial<ShipperLimits> = {}) {
  const receiver = await startOtlpReceiver(behave);
  receivers.push(receiver);
  const acknowledged: string[] = [];
  const quarantined: string[] = [];
  const reports: string[] = [];
  const shipper = createShipper(
    { endpoint: receiver.url, endpointHeaders: {}, serviceName: 'shop' },
    {
      acknowledged: (key) => acknowledged.push(key),
      quarantined: (key) => quarantined.push(key),
      report: (code) => reports.push(code),
    },
    { firstPauseMs: 5, longestPauseMs: 40, gatherMs: 5, ...limits },
  );
  return { receiver, shipper, acknowledged, quarantined, reports };
}

interface Offer {
  item: ShipItem;
  /** Times the segment was read. */
  reads: number;
  now(): Uint8Array;
}

let spans = 0;

function offerOf(json: Uint8Array = Buffer.from(JSON.stringify({ n: spans, text: 'naïve €' }))): Offer {
  const digest = createHash('sha256').update(json).digest('hex');
  const traceId = 'c'.repeat(32);
  const spanId = (++spans).toString(16).padStart(16, '0');
  const offer: Offer = {
    reads: 0,
    now: () => json,
    item: {
      key: `v1/20260102/${traceId}/${spanId}/${digest.slice(0, 16)}`,
      digest,
      traceId,
      spanId,
      spanHead: { name: 'chat', kind: 3, startTimeUnixNano: '1', endTimeUnixNano: '2' },
      readSnapshotJson: () => {
        offer.reads++;
        return json;
      },
      sizeBytes: json.length,
    },
  };
  return offer;
}

const some = (count: number): Offer[] => Array.from({ length: count }, () => offerOf());
const keysOf = (offers: readonly Offer[]): string[] => offers.map(({ item }) => item.key);
const sizesOf = (receiver: OtlpReceiver): number[] => receiver.requests.map((request) => request.spans.length);
const isIn = (received: readonly ReceivedSpan[], offer: Offer | undefined): boolean =>
  received.some(({ spanId }) => spanId === offer?.item.spanId);

it('sends small snapshots that come within a moment in one request, each under its own key', async () => {
  const { receiver, shipper, acknowledged } = await setUp();
  const offers = some(20);
  for (const { item, now } of offers) shipper.offer(item, now);
  expect(shipper.stats()).toMatchObject({ pending: 20 });
  await receiver.until(() => receiver.payloads().length === 20);
  await shipper.flush(5000);
  expect(sizesOf(receiver)).toEqual([20]);
  expect(receiver.payloads().map(({ key }) => key)).toEqual(keysOf(offers));
  for (const [i, payload] of receiver.payloads().entries()) {
    expect(payload.json).toEqual(offers[i]?.now());
    expect(payload.span.resource).toEqual({ 'service.name': 'shop', 'orangebox.snapshot.key': payload.key });
  }
  expect(acknowledged).toEqual(keysOf(offers));
  expect(offers.map(({ reads }) => reads)).toEqual(offers.map(() => 0));
  expect(shipper.stats()).toEqual({ offered: 20, shipped: 20, failed: 0, pending: 0, inFlightBytes: 0 });
});

it('sends what is gathered at once when it is full, and when it is flushed', async () => {
  const { receiver, shipper } = await setUp(undefined, { sharedItems: 4, gatherMs: 600_000 });
  for (const { item, now } of some(6)) shipper.offer(item, now);
  await receiver.until(() => receiver.payloads().length === 4);
  await shipper.flush(5000);
  expect(sizesOf(receiver)).toEqual([4, 2]);
});

it('compresses what is not small beside the program, and has it share a request all the same', async () => {
  const { receiver, shipper } = await setUp(undefined, { gatherMs: 600_000 });
  const offers = [...some(2), offerOf(Buffer.from(JSON.stringify(randomBytes(40_000).toString('hex')))), ...some(1)];
  for (const { item, now } of offers) shipper.offer(item, now);
  expect(shipper.stats()).toMatchObject({ pending: 4 });
  await shipper.flush(5000);
  expect(
    receiver
      .payloads()
      .map(({ key }) => key)
      .sort(),
  ).toEqual(keysOf(offers).sort());
  expect(sizesOf(receiver).reduce((sum, size) => sum + size)).toBe(4);
  expect(sizesOf(receiver).length).toBeLessThan(4);
  expect(offers.map(({ reads }) => reads)).toEqual([0, 0, 0, 0]);
  expect(shipper.stats()).toEqual({ offered: 4, shipped: 4, failed: 0, pending: 0, inFlightBytes: 0 });
});

it('sends a large snapshot by itself, and does not keep it waiting', async () => {
  const { receiver, shipper } = await setUp(undefined, { gatherMs: 600_000 });
  const large = offerOf(Buffer.from(JSON.stringify(randomBytes(300_000).toString('hex'))));
  const [small] = some(1);
  if (!small) throw new Error('none');
  shipper.offer(small.item, small.now);
  shipper.offer(large.item, large.now);
  await receiver.until(() => receiver.payloads().length === 2);
  expect(sizesOf(receiver)).toEqual([1, 1]);
  expect(large.reads).toBe(0);
});

it('puts no more into a request than may share one, however much comes while none can be sent', async () => {
  const { receiver, shipper, acknowledged } = await setUp(() => ({ delayMs: 60 }), { sharedItems: 4, concurrency: 2 });
  const middling = (): Offer => offerOf(Buffer.from(JSON.stringify(randomBytes(20_000).toString('hex'))));
  const offers = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? some(1) : [middling()])).flat();
  for (const { item, now } of offers) {
    shipper.offer(item, now);
    // What is compressed beside the program comes back meanwhile.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await shipper.flush(10_000);
  expect(acknowledged.sort()).toEqual(keysOf(offers).sort());
  expect(Math.max(...sizesOf(receiver))).toBe(4);
});

it('finds the one that the endpoint refuses by sending each by itself, and delivers the others', async () => {
  const offers = some(8);
  const bad = offers[3];
  const { receiver, shipper, acknowledged, quarantined } = await setUp(() => ({
    afterReading: (received) => ({ status: isIn(received, bad) ? 400 : 200 }),
  }));
  for (const { item, now } of offers) shipper.offer(item, now);
  await shipper.flush(5000);
  expect(sizesOf(receiver)).toEqual([8, 1, 1, 1, 1, 1, 1, 1, 1]);
  expect(quarantined).toEqual([bad?.item.key]);
  expect(acknowledged.sort()).toEqual(keysOf(offers.filter((offer) => offer !== bad)).sort());
});

it('sends each by itself when an answer rejects some without saying which', async () => {
  // ExportTraceServiceResponse { partial_success { rejected_spans: 1, error_message: "no" } }
  const rejected = Uint8Array.from([0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x6e, 0x6f]);
  const offers = some(5);
  const bad = offers[4];
  const { shipper, acknowledged, quarantined } = await setUp(() => ({
    afterReading: (received) => (isIn(received, bad) ? { body: rejected } : {}),
  }));
  for (const { item, now } of offers) shipper.offer(item, now);
  await shipper.flush(5000);
  expect(quarantined).toEqual([bad?.item.key]);
  expect(acknowledged.sort()).toEqual(keysOf(offers.slice(0, 4)).sort());
});

it('acknowledges none of a request that is answered 503, and reads them from the segment for the next try', async () => {
  const { receiver, shipper, acknowledged } = await setUp(({ number }) => ({ status: number <= 2 ? 503 : 200 }));
  const offers = some(6);
  for (const { item, now } of offers) shipper.offer(item, now);
  await receiver.until(() => receiver.requests.length === 1);
  expect(acknowledged).toEqual([]);
  await receiver.until(() => receiver.payloads().length === 6);
  await shipper.flush(5000);
  expect(sizesOf(receiver)).toEqual([6, 1, 1, 1, 1, 1, 1, 1]);
  expect(acknowledged.sort()).toEqual(keysOf(offers).sort());
  expect(offers.map(({ reads }) => reads)).toEqual([2, 1, 1, 1, 1, 1]);
});

it('holds nothing in memory while the endpoint fails, and brings what waits in shared requests when it is back', async () => {
  let isDown = true;
  const { receiver, shipper, acknowledged } = await setUp(() => ({ status: isDown ? 503 : 200 }), { sharedItems: 16 });
  const [first, ...others] = some(60);
  if (!first) throw new Error('none');
  shipper.offer(first.item, first.now);
  await receiver.until(() => receiver.requests.length === 1);
  await vi.waitFor(() => expect(shipper.stats().lastError).toBe('status 503'));
  for (const { item, now } of others) shipper.offer(item, now);
  expect(shipper.stats()).toMatchObject({ pending: 60 });
  expect(shipper.stats().inFlightBytes).toBeLessThanOrEqual(first.item.sizeBytes);
  isDown = false;
  await receiver.until(() => receiver.payloads().length === 60);
  await shipper.flush(5000);
  expect(acknowledged.length).toBe(60);
  expect(Math.max(...sizesOf(receiver))).toBe(16);
  expect(others.every(({ reads }) => reads === 1)).toBe(true);
});

it('puts fewer into a request when an endpoint is too slow for many', async () => {
  const sizes: number[] = [];
  const { shipper, acknowledged } = await setUp(
    () => ({
      afterReading: ({ length }) => {
        sizes.push(length);
        return length > 4 ? { hang: true } : {};
      },
    }),
    { timeoutMs: 60, concurrency: 1 },
  );
  for (const { item, now } of some(64)) shipper.offer(item, now);
  await vi.waitFor(() => expect(acknowledged.length).toBe(64), { timeout: 10_000, interval: 5 });
  expect(sizes.filter((length) => length > 4).length).toBeLessThan(5);
});

it('makes the same gzip at once and beside the program', async () => {
  const json = Buffer.from(
    JSON.stringify({ text: 'an orange is round '.repeat(4000), noise: randomBytes(9000).toString('base64') }),
  );
  const [now, beside] = [compressSnapshotNow(json), await compressSnapshot(json)];
  expect(beside.sha256).toBe(now.sha256);
});
