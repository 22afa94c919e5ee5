/** What the default configuration lets through, and to whom: hostile keys, payloads on the wrong port, faults further on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partAttributes, partRequest, traceRequest } from '../../helpers/otlp-sender.mjs';
import { askFor, traceOf } from './jaeger-answers.ts';
import { type Payload, requestOf, requestWithKey, samplePayload, send } from './payloads.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import { documentedMetrics } from './documented.ts';
import { bucketOf, objectNames, readKey } from './stored-objects.ts';

let servers: Pipeline;
beforeAll(async () => {
  servers = await pipeline('collector', { token: 'token-of-the-lane' });
});
afterAll(async () => {
  await servers?.stop();
});

const allObjects = async (): Promise<string[]> => {
  const bucket = bucketOf(servers);
  try {
    return await objectNames(bucket, '');
  } finally {
    await bucket.close();
  }
};

/** A counter of the collector itself, by the labels it must have. */
async function counter(name: string, label: string): Promise<number> {
  const text = await (await fetch(servers.collector.telemetryUrl)).text();
  const line = text.split('\n').find((l) => l.startsWith(`${name}{`) && l.includes(label));
  return Number(line?.split(' ').at(-1) ?? 0);
}

describe('payloads with a key that is no key', () => {
  const badKeys: [name: string, change: (key: string) => string | undefined][] = [
    ['none', () => undefined],
    ['empty', () => ''],
    ['a leading ..', (key) => `../${key}`],
    ['.. inside', (key) => key.replace('/', '/../')],
    ['an absolute path', (key) => `/${key}`],
    ['something after it', (key) => `${key}/../../x`],
    ['upper case', (key) => key.toUpperCase()],
    ['a newline at its end', (key) => `${key}\n`],
    ['a newline and another key', (key) => `x\n${key}`],
    ['a NUL', (key) => `${key}\0`],
    ['a backslash', (key) => key.replaceAll('/', '\\')],
    ['escapes', (key) => key.replaceAll('/', '%2f')],
    ['10,000 characters', (key) => key + 'a'.repeat(10_000)],
    ['one digit less', (key) => key.slice(0, -1)],
  ];

  it.each(badKeys)('go nowhere and are counted: %s', async (_name, change) => {
    const before = await counter('otelcol_processor_filter_spans_filtered', 'filter/key');
    const payload = await samplePayload();
    expect(await send(servers.collector.payloadUrl, requestWithKey(payload, change(payload.key)))).toMatchObject({
      status: 200,
    });
    expect(await counter('otelcol_processor_filter_spans_filtered', 'filter/key')).toBe(before + 1);
    expect(await allObjects()).toEqual([]);
  });

  it('do not hold up a good one in the same request', async () => {
    const [good, bad] = [await samplePayload(), await samplePayload()];
    const resource = ({ bytes, snapshot }: Payload, key: string) => ({
      attributes: { 'orangebox.snapshot.key': key },
      spans: [{ events: [{ attributes: partAttributes({ bytes, digest: snapshot.digest }) }] }],
    });
    const request = traceRequest([resource(bad, `../${bad.key}`), resource(good, good.key)]);
    expect(await send(servers.collector.payloadUrl, request)).toMatchObject({ status: 200 });
    expect(await allObjects()).toEqual([`${good.key}/snapshot.json.gz`]);
  });
});

it('a payload whose digest does not match its key is kept apart with its reason, and never under the key', async () => {
  const payload = await samplePayload();
  const other = await samplePayload();
  const sent = await send(
    servers.collector.payloadUrl,
    partRequest(payload.key, { bytes: other.bytes, digest: other.snapshot.digest }),
  );
  expect(sent.status).toBe(200);
  const names = await allObjects();
  expect(names.filter((name) => name.startsWith(payload.key))).toEqual([]);
  expect(names.filter((name) => name.startsWith('quarantine/')).length).toBeGreaterThan(0);
});

it('a payload sent twice is one object', async () => {
  const payload = await samplePayload();
  for (let n = 0; n < 2; n++) {
    expect(await send(servers.collector.payloadUrl, requestOf(payload))).toMatchObject({ status: 200 });
  }
  expect((await allObjects()).filter((name) => name.startsWith(payload.key))).toHaveLength(1);
  const bucket = bucketOf(servers);
  expect((await readKey(bucket, payload.key))?.digest).toBe(payload.snapshot.digest);
  await bucket.close();
});

describe('payloads that arrive where metadata belong', () => {
  const SECRET = 'text that no trace backend may ever see';
  const at = (key: string, stringValue: string): object => ({ key, value: { stringValue } });
  const traceIds = ['1', '2', '3'].map((digit) => digit.repeat(32));
  const span = (traceId: string, extra: object): object => ({
    traceId,
    spanId: traceId.slice(0, 16),
    name: 'chat',
    kind: 3,
    startTimeUnixNano: `${Date.now()}000000`,
    endTimeUnixNano: `${Date.now()}000001`,
    ...extra,
  });
  const sendSpan = async (resource: object[], spans: object[]): Promise<number> => {
    const body = JSON.stringify({ resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ spans }] }] });
    const { metadataUrl } = servers.collector;
    return (await send(metadataUrl, Buffer.from(body), { 'content-type': 'application/json' })).status;
  };

  it('are stripped, and the span goes on with its other events', async () => {
    const [traceId = ''] = traceIds;
    const events = [
      { name: 'orangebox.snapshot', attributes: [at('orangebox.snapshot.body', SECRET)] },
      { name: 'the same under another name', attributes: [at('orangebox.snapshot.body', SECRET)] },
      { name: 'orangebox.snapshot', attributes: [at('other', SECRET)] },
      { name: 'of the application' },
    ];
    expect(
      await sendSpan(
        [],
        [span(traceId, { attributes: [at('orangebox.snapshot.body', SECRET), at('kept', 'yes')], events })],
      ),
    ).toBe(200);
    const { raw, spans } = await traceOf(servers.jaeger, traceId, [traceId.slice(0, 16)]);
    expect(spans[0]?.events?.map(({ name }) => name)).toEqual(['of the application']);
    expect(spans[0]?.attributes?.map(({ key }) => key)).toEqual(['kept']);
    expect(raw).not.toContain(SECRET);
  });

  it('are dropped whole when they are twins, also beside other spans', async () => {
    const [, twin = '', other = ''] = traceIds;
    const { key } = await samplePayload();
    const events = [{ name: 'orangebox.snapshot', attributes: [at('orangebox.snapshot.body', SECRET)] }];
    expect(await sendSpan([at('orangebox.snapshot.key', key)], [span(twin, { events })])).toBe(200);
    expect(await sendSpan([], [span(other, {})])).toBe(200);
    await traceOf(servers.jaeger, other, [other.slice(0, 16)]);
    expect((await askFor(servers.jaeger, twin)).spans).toEqual([]);
  });
});

describe('a fault further on', () => {
  const sendNew = async () => send(servers.collector.payloadUrl, requestOf(await samplePayload()));

  it('is answered 503 within a second when the store is down, and metadata does not suffer', async () => {
    await servers.weed?.kill();
    const sent = await sendNew();
    expect(sent).toMatchObject({ status: 503, retryAfter: null });
    expect(sent.tookMs).toBeLessThan(1000);
    expect(await counter('otelcol_receiver_refused_spans', 'otlp/payload')).toBeGreaterThan(0);
    const metadata = traceRequest([{ spans: [{}] }]);
    expect(await send(servers.collector.metadataUrl, metadata)).toMatchObject({ status: 200 });
    await servers.weed?.restart();
    expect(await sendNew()).toMatchObject({ status: 200 });
  });

  it('is answered 503 at once when the archiver is down', async () => {
    await servers.archiver?.kill();
    const sent = await sendNew();
    expect(sent).toMatchObject({ status: 503 });
    expect(sent.tookMs).toBeLessThan(1000);
    await servers.archiver?.restart();
    expect(await sendNew()).toMatchObject({ status: 200 });
  });

  it('is no fault of payloads when Jaeger is down', async () => {
    await servers.jaeger.kill();
    expect(await sendNew()).toMatchObject({ status: 200 });
    expect(await send(servers.collector.metadataUrl, traceRequest([{ spans: [{}] }]))).toMatchObject({ status: 200 });
    await servers.jaeger.restart();
  });

  it('is answered with what the sender must not take for stored when the token is wrong', async () => {
    await servers.collector.restart({
      ORANGEBOX_JAEGER_URL: servers.jaeger.otlpUrl,
      ORANGEBOX_ARCHIVER_URL: servers.archiver?.url ?? '',
      ORANGEBOX_ARCHIVE_TOKEN: 'another',
    });
    const sent = await sendNew();
    expect(sent.status).toBe(401);
    expect(sent.text).not.toContain('another');
  });
});

it('every metric that docs/pipeline.md tells operators to look at is on its page', async () => {
  const named = documentedMetrics(/\b(?:otelcol|orangebox_archiver)_[a-z_]+/g);
  expect(named.length).toBeGreaterThan(8);
  // Only there once it has happened: seen in the test of the queue, and by nobody while memory is plenty.
  const rare = ['otelcol_exporter_enqueue_failed_spans', 'otelcol_processor_memory_limiter_refused_spans'];
  const pages = [servers.collector.telemetryUrl, `${servers.archiver?.url}/metrics`].map(async (url) => {
    const response = await fetch(url, { headers: { authorization: 'Bearer token-of-the-lane' } });
    return response.text();
  });
  const text = (await Promise.all(pages)).join('\n');
  expect(named.filter((name) => !rare.includes(name) && !new RegExp(`^(# HELP )?${name}[{ ]`, 'm').test(text))).toEqual(
    [],
  );
});
