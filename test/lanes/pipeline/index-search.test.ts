import { afterAll, beforeAll, expect, it } from 'vitest';
import { initBucket, openBucket } from '@orangebox/store';
import { findSession, WANTED_CALLS, writeRows } from './index-rows.ts';
import { startWeed, type WeedServer } from './servers/index.ts';

let weed: WeedServer;
beforeAll(async () => {
  weed = await startWeed();
});
afterAll(() => weed.stop());

it('finds one session among fifty thousand calls of a day in a bucket without opening a snapshot', async () => {
  const url = 's3://sample/rows';
  await initBucket(url, { env: weed.clientEnv });
  const bucket = openBucket(url, { env: weed.clientEnv });
  const untilUnixMs = Math.floor(Date.now() / 60_000) * 60_000;
  const { objects } = await writeRows(bucket, { rows: 50_000, untilUnixMs });
  await bucket.close();
  const { found, requests, readBytes, ms } = await findSession(url, weed.clientEnv, untilUnixMs - 24 * 3_600_000);
  process.stdout.write(`found in ${Math.round(ms)} ms: ${requests} objects, ${(readBytes / 1e6).toFixed(1)} MB\n`);
  expect(found).toBe(WANTED_CALLS);
  // The first bytes of each object, and the few objects that may have it.
  expect(requests).toBeLessThan(objects * 1.1);
});
