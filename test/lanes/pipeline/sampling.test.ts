/** The sampling overlay: what is dropped is dropped for the trace backend only. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { askFor, traceOf } from './jaeger-answers.ts';
import { shippedConfig } from './pipeline.ts';
import { type CollectorServer, type JaegerServer, startCollector, startJaeger } from './servers/index.ts';

let jaeger: JaegerServer;
let collector: CollectorServer;

beforeAll(async () => {
  jaeger = await startJaeger();
  collector = await startCollector(['file', 'tail-sampling'].map(shippedConfig), {
    ORANGEBOX_JAEGER_URL: jaeger.otlpUrl,
    ORANGEBOX_SAMPLING_WAIT: '1s',
    ORANGEBOX_SAMPLING_PERCENT: '0',
    ORANGEBOX_SAMPLING_SLOW_MS: '5000',
  });
});
afterAll(async () => {
  await collector?.stop();
  await jaeger?.stop();
});

interface Kind {
  seconds: number;
  status?: number;
}

async function sendTrace({ seconds, status = 0 }: Kind): Promise<string> {
  const traceId = randomBytes(16).toString('hex');
  const startMs = Date.now() - 60_000;
  const span = {
    traceId,
    spanId: traceId.slice(0, 16),
    name: 'chat orange-1',
    kind: 3,
    startTimeUnixNano: `${startMs}000000`,
    endTimeUnixNano: `${startMs + seconds * 1000}000000`,
    attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }],
    status: { code: status },
  };
  // Without a service's name the connector makes no metrics of a span.
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'sampled' } }] };
  const response = await fetch(`${collector.metadataUrl}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }),
  });
  expect(response.status).toBe(200);
  return traceId;
}

it('keeps traces with errors and slow ones, and of the rest the share that is asked for', async () => {
  const dropped = await Promise.all(Array.from({ length: 20 }, () => sendTrace({ seconds: 1 })));
  const failed = await sendTrace({ seconds: 1, status: 2 });
  const slow = await sendTrace({ seconds: 10 });
  for (const kept of [failed, slow]) await traceOf(jaeger, kept, [kept.slice(0, 16)]);
  // Its decision fell with theirs: all came within the same second, and decisions fall in the order of arrival.
  for (const traceId of dropped) expect((await askFor(jaeger, traceId)).spans).toEqual([]);
});

it('does not change what is counted', async () => {
  const counted = async (): Promise<number> => {
    const text = await (await fetch(collector.metricsUrl)).text();
    const values = [...text.matchAll(/^gen_ai_duration_milliseconds_count\{.*\} (\d+)$/gm)];
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  };
  await expect.poll(counted, { timeout: 20_000 }).toBe(22);
});
