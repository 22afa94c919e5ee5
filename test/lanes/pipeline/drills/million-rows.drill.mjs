/** One session among a million calls of a day, found in a bucket of a real S3 server. */
import { loadavg } from 'node:os';
import { expect, it } from 'vitest';
import { initBucket, openBucket } from '@orangebox/store';
import { findSession, WANTED_CALLS, writeRows } from '../index-rows.ts';
import { startWeed } from '../servers/index.ts';

// Each archiver has objects of its own for a minute, and each is one request: three have three times as many.
it.each([
  { writers: 1, limitMs: 5_000 },
  { writers: 3, limitMs: 15_000 },
])(
  'a session among a million calls of a day, written by $writers archivers, is found within $limitMs ms',
  async ({ writers, limitMs }) => {
    const weed = await startWeed();
    try {
      const url = 's3://million/rows';
      await initBucket(url, { env: weed.clientEnv });
      const bucket = openBucket(url, { env: weed.clientEnv });
      const untilUnixMs = Math.floor(Date.now() / 60_000) * 60_000;
      const started = performance.now();
      const { objects, packedBytes } = await writeRows(bucket, { rows: 1_000_000, untilUnixMs, writers });
      await bucket.close();
      say(
        `${writers} writers: 1,000,000 rows in ${objects} objects, ${mb(packedBytes)}, written in ${seconds(performance.now() - started)}`,
      );
      const times = [];
      for (let i = 0; i < 3; i += 1) {
        const before = process.cpuUsage();
        const { found, ms, readBytes, requests } = await findSession(url, weed.clientEnv, untilUnixMs - 24 * 3_600_000);
        const cpu = process.cpuUsage(before);
        const busy = `${seconds((cpu.user + cpu.system) / 1000)} of CPU, load ${loadavg()[0].toFixed(1)}`;
        say(`  found ${found} calls in ${seconds(ms)} (${busy}): ${requests} reads, ${mb(readBytes)}`);
        expect(found).toBe(WANTED_CALLS);
        times.push(ms);
      }
      expect(Math.min(...times)).toBeLessThan(limitMs);
    } finally {
      await weed.stop();
    }
  },
  600_000,
);

const say = (text) => process.stdout.write(`${text}\n`);
const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
