/** The persistent queue: what it takes it keeps, and when it is full it says so. */
import { afterEach, expect, it } from 'vitest';
import { requestOf, samplePayload, send } from './payloads.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import { bucketOf, readKey } from './stored-objects.ts';

let servers: Pipeline | undefined;
afterEach(async () => {
  await servers?.stop();
  servers = undefined;
});

async function counter({ collector }: Pipeline, name: string): Promise<number> {
  const text = await (await fetch(collector.telemetryUrl)).text();
  const line = text.split('\n').find((l) => l.startsWith(`${name}{`) && l.includes('archiver'));
  return Number(line?.split(' ').at(-1) ?? 0);
}

it('what was answered 200 while the archiver was away is stored when it is back, though the collector was killed meanwhile', async () => {
  servers = await pipeline('queue');
  const { collector, archiver } = servers;
  await archiver?.kill();
  const payloads = await Promise.all(Array.from({ length: 20 }, samplePayload));
  const answers = await Promise.all(payloads.map((payload) => send(collector.payloadUrl, requestOf(payload))));
  expect(answers.map(({ status }) => status)).toEqual(payloads.map(() => 200));
  await collector.kill();
  await archiver?.restart();
  await collector.restart();
  const bucket = bucketOf(servers);
  for (const { key, snapshot } of payloads) {
    await expect.poll(async () => (await readKey(bucket, key))?.digest, { timeout: 60_000 }).toBe(snapshot.digest);
  }
  await bucket.close();
});

it('refuses with 503 when it is full, and counts it', async () => {
  servers = await pipeline('queue', { collectorEnv: { ORANGEBOX_QUEUE_BYTES: '20000' } });
  await servers.archiver?.kill();
  const statuses: number[] = [];
  for (let n = 0; n < 30; n++) {
    const { status } = await send(servers.collector.payloadUrl, requestOf(await samplePayload()));
    statuses.push(status);
  }
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(statuses.at(-1)).toBe(503);
  expect(await counter(servers, 'otelcol_exporter_enqueue_failed_spans')).toBe(
    statuses.filter((s) => s === 503).length,
  );
  expect(await counter(servers, 'otelcol_exporter_queue_size')).toBeGreaterThan(10_000);
});
