import { createHash, randomBytes } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { type Behaviour, type OtlpReceiver, startOtlpReceiver } from '../../../../test/helpers/otlp-receiver.mjs';
import { RemovedByBoundError } from '../retention/moved-records.ts';
import type { ShipItem } from '../shipper.ts';
import { createShipper, type ShipperLimits } from './payload-shipper.ts';

const receivers: OtlpReceiver[] = [];

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

async function setUp(behave?: Behaviour, limits: Partial<ShipperLimits> = {}, headers: Record<string, string> = {}) {
  const receiver = await startOtlpReceiver(behave);
  receivers.push(receiver);
  return { receiver, ...shipperTo(receiver.url, limits, headers) };
}

function shipperTo(
  endpoint: string,
  limits: Partial<ShipperLimits> = {},
  endpointHeaders: Record<string, string> = {},
) {
  const acknowledged: string[] = [];
  const quarantined: [key: string, reason: string][] = [];
  const reports: string[] = [];
  const messages: string[] = [];
  const shipper = createShipper(
    { endpoint, endpointHeaders, serviceName: 'shop' },
    {
      acknowledged: (key) => acknowledged.push(key),
      quarantined: (key, reason) => quarantined.push([key, reason]),
      report(code, message) {
        reports.push(code);
        messages.push(message);
      },
    },
    { firstPauseMs: 5, longestPauseMs: 40, ...limits },
  );
  return { shipper, acknowledged, quarantined, reports, messages };
}

let spans = 0;

function itemOf(json: Uint8Array, reads: { count: number } = { count: 0 }): ShipItem {
  const digest = createHash('sha256').update(json).digest('hex');
  const traceId = 'a'.repeat(32);
  const spanId = (++spans).toString(16).padStart(16, '0');
  return {
    key: `v1/20260102/${traceId}/${spanId}/${digest.slice(0, 16)}`,
    digest,
    traceId,
    spanId,
    spanHead: {
      name: 'chat gpt-4o',
      kind: 3,
      parentSpanId: 'b'.repeat(16),
      startTimeUnixNano: '1767312000123456789',
      endTimeUnixNano: '1767312001123456789',
    },
    readSnapshotJson: () => {
      reads.count++;
      return json;
    },
    sizeBytes: json.length,
  };
}

const smallItem = (): ShipItem => itemOf(Buffer.from(JSON.stringify({ n: spans, text: 'naïve €' })));

it('sends a snapshot as a twin of its span whose event gunzips to the very bytes', async () => {
  const { receiver, shipper, acknowledged } = await setUp();
  const json = Buffer.from('{"hello":"wörld"}');
  const item = itemOf(json);
  shipper.offer(item);
  await shipper.flush(5000);
  const [payload] = receiver.payloads();
  expect(payload?.json).toEqual(json);
  expect(payload).toMatchObject({ key: item.key, digest: item.digest, complete: true });
  expect(payload?.span).toMatchObject({
    name: 'chat gpt-4o',
    kind: 3,
    traceId: item.traceId,
    spanId: item.spanId,
    parentSpanId: 'b'.repeat(16),
    startUnixNano: '1767312000123456789',
    endUnixNano: '1767312001123456789',
    resource: { 'service.name': 'shop', 'orangebox.snapshot.key': item.key },
    attributes: {},
    scope: 'orangebox',
  });
  expect(receiver.requests[0]?.path).toBe('/v1/traces');
  expect(acknowledged).toEqual([item.key]);
  expect(shipper.stats()).toEqual({ offered: 1, shipped: 1, failed: 0, pending: 0, inFlightBytes: 0 });
});

it('sends the configured headers', async () => {
  const { receiver, shipper } = await setUp(
    undefined,
    {},
    { Authorization: 'Bearer a b', 'x-tenant': 'ü'.normalize() },
  );
  shipper.offer(smallItem());
  await shipper.flush(5000);
  expect(receiver.requests[0]?.headers['authorization']).toBe('Bearer a b');
});

it('leaves out a header that can not be sent', async () => {
  const { receiver, shipper, reports } = await setUp(undefined, {}, { 'x-a': 'one\ntwo', 'x-b': 'fine' });
  shipper.offer(smallItem());
  await shipper.flush(5000);
  expect(receiver.requests[0]?.headers).toMatchObject({ 'x-b': 'fine' });
  expect(receiver.requests[0]?.headers['x-a']).toBeUndefined();
  expect(reports).toEqual(['payload_header']);
});

it('sends 30 MiB in parts of at most 8 MiB, one per request', async () => {
  const { receiver, shipper, acknowledged } = await setUp();
  const json = Buffer.from(JSON.stringify({ body: randomBytes(23 * 1024 * 1024).toString('base64') }));
  expect(json.length).toBeGreaterThan(30 * 1024 * 1024);
  shipper.offer(itemOf(json));
  await shipper.flush(20_000);
  const [payload] = receiver.payloads();
  expect(payload?.complete).toBe(true);
  expect(payload?.json?.equals(json)).toBe(true);
  expect(payload?.parts.length).toBe(3);
  expect(receiver.requests.map((r) => r.spans.length)).toEqual([1, 1, 1]);
  for (const request of receiver.requests) expect(request.sizeBytes).toBeLessThan(8 * 1024 * 1024 + 1024);
  expect(acknowledged).toHaveLength(1);
});

it('sends only the missing parts again after an outage in mid-payload', async () => {
  const { receiver, shipper, acknowledged } = await setUp(({ number }) => ({ status: number === 2 ? 503 : 200 }));
  const json = Buffer.from(JSON.stringify({ body: randomBytes(14 * 1024 * 1024).toString('base64') }));
  shipper.offer(itemOf(json));
  await receiver.until(() => receiver.payloads()[0]?.complete === true);
  await shipper.flush(5000);
  expect(receiver.requests).toHaveLength(3);
  expect(receiver.payloads()[0]?.json?.equals(json)).toBe(true);
  expect(acknowledged).toHaveLength(1);
});

it('tries again, oldest first and one at a time, while the endpoint answers 503', async () => {
  const { receiver, shipper, acknowledged } = await setUp(({ number }) => ({ status: number <= 2 ? 503 : 200 }), {
    concurrency: 1,
    sharedItems: 1,
  });
  const items = [smallItem(), smallItem(), smallItem()];
  for (const item of items) shipper.offer(item);
  await receiver.until(() => receiver.payloads().length === 3);
  await shipper.flush(5000);
  const order = receiver.requests.map((r) => r.spans[0]?.spanId);
  const [first, second, third] = items.map((item) => item.spanId);
  expect(order).toEqual([first, first, first, second, third]);
  expect(acknowledged).toEqual(items.map((item) => item.key));
});

it('waits as long as Retry-After says', async () => {
  const { receiver, shipper } = await setUp(({ number }) =>
    number === 1 ? { status: 429, headers: { 'retry-after': '1' } } : {},
  );
  shipper.offer(smallItem());
  await receiver.until(() => receiver.requests.length === 2);
  const [refused, taken] = receiver.requests;
  expect((taken?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThan(990);
});

it.each([400, 413])('gives up a payload that is answered %i, and sends the others', async (status) => {
  const { receiver, shipper, acknowledged, quarantined, reports } = await setUp(
    ({ number }) => ({ status: number === 1 ? status : 200 }),
    {
      concurrency: 1,
    },
  );
  const items = [smallItem(), smallItem()];
  for (const item of items) shipper.offer(item);
  await shipper.flush(5000);
  expect(receiver.requests).toHaveLength(2);
  expect(acknowledged).toEqual([items[1]?.key]);
  expect(quarantined).toEqual([[items[0]?.key, `status ${status}`]]);
  expect(shipper.stats()).toMatchObject({ offered: 2, shipped: 1, failed: 1, pending: 0 });
  expect(reports).toEqual(['payload_refused']);
});

it('takes the answer of a receiver that refuses before it has read the whole body', async () => {
  const { shipper } = await setUp(() => ({ answerEarly: true, status: 413 }), { firstPauseMs: 1 });
  shipper.offer(itemOf(Buffer.from(JSON.stringify({ body: randomBytes(4 * 1024 * 1024).toString('base64') }))));
  await shipper.flush(3000);
  // Either the answer was read (given up) or the connection broke first (tried again later): never acknowledged.
  expect(shipper.stats().shipped).toBe(0);
});

it('counts a 200 whose partial success rejects the span as refused', async () => {
  // ExportTraceServiceResponse { partial_success { rejected_spans: 1, error_message: "no" } }
  const body = Uint8Array.from([0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x6e, 0x6f]);
  const { shipper, acknowledged } = await setUp(() => ({ body }));
  shipper.offer(smallItem());
  await shipper.flush(5000);
  expect(acknowledged).toEqual([]);
  expect(shipper.stats()).toMatchObject({ failed: 1, pending: 0 });
});

it('does not let a payload that always fails block the others, and gives it up', async () => {
  const bad = smallItem();
  const receiver = await startOtlpReceiver();
  receivers.push(receiver);
  const { shipper, acknowledged, reports } = shipperTo(receiver.url, {
    concurrency: 1,
    failuresPerItem: 4,
    failingPerItemMs: 0,
  });
  receiver.behave(() => ({ status: badIsNext() ? 500 : 200 }));
  const good = [smallItem(), smallItem(), smallItem()];
  let current = '';
  const badIsNext = (): boolean => current === bad.spanId;
  const traced = (item: ShipItem): ShipItem => ({
    ...item,
    readSnapshotJson: () => {
      current = item.spanId;
      return item.readSnapshotJson();
    },
  });
  for (const item of [bad, ...good]) shipper.offer(traced(item));
  await vi.waitFor(() => expect(shipper.stats().pending).toBe(0), { timeout: 5000, interval: 10 });
  expect(acknowledged).toEqual(good.map((item) => item.key));
  expect(shipper.stats()).toMatchObject({ shipped: 3, failed: 1 });
  expect(reports).toContain('payload_failing');
});

it('gives up nothing of what an endpoint that is short of room takes bit by bit', async () => {
  const { shipper, acknowledged } = await setUp(({ number }) => ({ status: number % 10 === 0 ? 200 : 503 }), {
    firstPauseMs: 1,
    longestPauseMs: 2,
    longestItemPauseMs: 20,
  });
  const items = Array.from({ length: 30 }, smallItem);
  for (const item of items) shipper.offer(item);
  await vi.waitFor(() => expect(shipper.stats().pending).toBe(0), { timeout: 15_000, interval: 10 });
  expect(acknowledged.sort()).toEqual(items.map((item) => item.key).sort());
  expect(shipper.stats()).toMatchObject({ shipped: 30, failed: 0 });
});

it('lets an item that fails while others are taken stand aside for longer and longer, and goes on with the others', async () => {
  const bad = smallItem();
  let current = '';
  const { receiver, shipper, acknowledged } = await setUp(() => ({ status: current === bad.spanId ? 503 : 200 }), {
    concurrency: 1,
    firstPauseMs: 1,
    longestPauseMs: 2,
    longestItemPauseMs: 60_000,
  });
  const traced = (item: ShipItem): ShipItem => ({
    ...item,
    readSnapshotJson: () => {
      current = item.spanId;
      return item.readSnapshotJson();
    },
  });
  const good = Array.from({ length: 200 }, smallItem);
  for (const item of [bad, ...good]) shipper.offer(traced(item));
  await vi.waitFor(() => expect(acknowledged.length).toBe(200), { timeout: 10_000, interval: 10 });
  expect(receiver.seen - 200).toBeLessThan(14);
  expect(shipper.stats()).toMatchObject({ failed: 0, pending: 1 });
});

it('says at the end of a short program where its recordings could not go, and not what may be secret in the address', async () => {
  const receiver = await startOtlpReceiver(() => ({ status: 503 }));
  receivers.push(receiver);
  const { shipper, reports, messages } = shipperTo(receiver.url.replace('http://', 'http://me:word@') + '/hush');
  shipper.offer(smallItem());
  await shipper.flush(3000);
  expect(reports).toEqual(['payload_unreachable']);
  expect(messages[0]).toContain(`${receiver.url} can't take recordings (status 503)`);
  expect(messages[0]).not.toMatch(/word|hush/);
});

it.each([
  [404, 'ORANGEBOX_ENDPOINT is a base URL'],
  [401, 'ORANGEBOX_HEADERS'],
])('names the variable that a %i is about', async (status, words) => {
  const { shipper, messages } = await setUp(() => ({ status }));
  shipper.offer(smallItem());
  await shipper.flush(3000);
  expect(messages[0]).toContain(words);
});

it('does not follow a redirect', async () => {
  const other = await startOtlpReceiver();
  receivers.push(other);
  const { receiver, shipper, reports } = await setUp(() => ({
    status: 307,
    headers: { location: `${other.url}/v1/traces` },
  }));
  shipper.offer(smallItem());
  await shipper.flush(3000);
  expect(receiver.requests.length).toBeGreaterThan(0);
  expect(other.seen).toBe(0);
  expect(shipper.stats()).toMatchObject({ shipped: 0, pending: 1 });
  expect(new Set(reports)).toEqual(new Set(['payload_endpoint']));
});

it('keeps trying when nobody listens, and delivers when somebody does', async () => {
  const probe = await startOtlpReceiver();
  const { url } = probe;
  await probe.close();
  const { shipper, acknowledged } = shipperTo(url);
  const items = [smallItem(), smallItem()];
  for (const item of items) shipper.offer(item);
  await vi.waitFor(() => expect(shipper.stats().lastError).toBe('ECONNREFUSED'), { timeout: 5000, interval: 5 });
  expect(acknowledged).toEqual([]);
  const { createServer } = await import('node:http');
  const server = createServer((req, res) => req.resume().on('end', () => res.end()));
  await new Promise<void>((resolve) => server.listen(Number(new URL(url).port), '127.0.0.1', resolve));
  await vi.waitFor(() => expect(shipper.stats().pending).toBe(0), { timeout: 5000, interval: 5 });
  expect(acknowledged.sort()).toEqual(items.map((item) => item.key).sort());
  server.closeAllConnections();
  server.close();
});

it('survives an unknown host', async () => {
  const { shipper } = shipperTo('https://orangebox.invalid');
  shipper.offer(smallItem());
  await shipper.flush(3000);
  expect(shipper.stats()).toMatchObject({ shipped: 0, pending: 1 });
});

it('tries again when the connection is cut in mid-request', async () => {
  const { receiver, shipper, acknowledged } = await setUp(({ number }) =>
    number === 1 ? { closeAfterBytes: 1000 } : {},
  );
  const item = itemOf(Buffer.from(JSON.stringify(randomBytes(200_000).toString('base64'))));
  shipper.offer(item);
  await receiver.until(() => receiver.payloads().length === 1);
  await shipper.flush(5000);
  expect(acknowledged).toEqual([item.key]);
});

it('gives up a request that is never answered, and tries it again', async () => {
  const { receiver, shipper, acknowledged } = await setUp(({ number }) => (number === 1 ? { hang: true } : {}), {
    timeoutMs: 80,
  });
  const item = smallItem();
  shipper.offer(item);
  await receiver.until(() => receiver.requests.length === 2);
  await shipper.flush(5000);
  expect(acknowledged).toEqual([item.key]);
});

it('waits no longer for an answer that never ends than for one that never begins', async () => {
  const { shipper, acknowledged } = await setUp(() => ({ drip: true }), { timeoutMs: 80 });
  const item = smallItem();
  shipper.offer(item);
  await shipper.flush(5000);
  expect(acknowledged).toEqual([item.key]);
});

it('reads a snapshot again for each try instead of holding it', async () => {
  const reads = { count: 0 };
  const { receiver, shipper } = await setUp(({ number }) => ({ status: number <= 2 ? 503 : 200 }));
  shipper.offer(itemOf(Buffer.from('{}'), reads));
  await receiver.until(() => receiver.payloads().length === 1);
  expect(reads.count).toBe(3);
});

it('bounds the sends and the bytes that are under way', async () => {
  let open = 0;
  let most = 0;
  const { receiver, shipper } = await setUp(
    () => {
      open++;
      most = Math.max(most, open);
      setTimeout(() => open--, 15);
      return { delayMs: 20 };
    },
    { concurrency: 8, bytesInFlight: 250_000 },
  );
  for (let i = 0; i < 10; i++) shipper.offer(itemOf(Buffer.from(JSON.stringify('x'.repeat(100_000)))));
  expect(shipper.stats().inFlightBytes).toBeLessThanOrEqual(250_000);
  await receiver.until(() => receiver.requests.length === 10);
  expect(most).toBe(2);
});

it('counts an item as lost when its segment is gone', async () => {
  const { shipper, reports } = await setUp();
  shipper.offer({ ...smallItem(), readSnapshotJson: () => Promise.reject(new Error('gone')) });
  await shipper.flush(5000);
  expect(shipper.stats()).toMatchObject({ failed: 1, pending: 0 });
  expect(reports).toEqual(['payload_lost']);
});

it('does not count an item that a bound of the directory took: the bound did', async () => {
  const { shipper, reports } = await setUp();
  const readSnapshotJson = (): Promise<Uint8Array> => Promise.reject(new RemovedByBoundError('removed'));
  shipper.offer({ ...smallItem(), readSnapshotJson });
  await shipper.flush(5000);
  expect(shipper.stats()).toMatchObject({ failed: 1, pending: 0 });
  expect(reports).toEqual([]);
});

it.each([
  ['a leading slash', (key: string) => `/${key}`],
  ['upper case', (key: string) => key.toUpperCase()],
  ['a step upwards', (key: string) => `v1/../${key.slice(3)}`],
  ['a line end', (key: string) => `${key}\n`],
  ['nothing', () => ''],
])('never sends a key with %s', async (_what, change) => {
  const { receiver, shipper, reports } = await setUp();
  const item = smallItem();
  shipper.offer({ ...item, key: change(item.key) });
  await shipper.flush(5000);
  expect(receiver.seen).toBe(0);
  expect(reports).toEqual(['payload_key']);
});

it('settles a flush when its time is over, and soon when trying is of no use', async () => {
  const { shipper } = await setUp(() => ({ hang: true }));
  shipper.offer(smallItem());
  const startMs = performance.now();
  await shipper.flush(60);
  expect(performance.now() - startMs).toBeLessThan(1000);
  const down = shipperTo('http://127.0.0.1:9');
  down.shipper.offer(smallItem());
  const secondMs = performance.now();
  await down.shipper.flush(10_000);
  expect(performance.now() - secondMs).toBeLessThan(3000);
  expect(down.shipper.stats().pending).toBe(1);
});
