/** Payloads through the collector to the store, against a collector that drops them; and what a program feels of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startProvider } from '../../../fixtures/provider/server.mjs';
import { inRepository } from '../../../helpers/repository.ts';
import { recorded } from '../../../../packages/server/src/testing/archiver-bench.ts';
import { partRequest } from '../../../helpers/otlp-sender.mjs';
import { send } from '../payloads.ts';
import { pipeline } from '../pipeline.ts';
import { startCollector } from '../servers/index.ts';
import { report, runMeasured, storedKeys } from './measured.mjs';

const SIZES = { '10 KB': [10_000, 1000, 8], '100 KB': [100_000, 400, 8], '1 MB': [1_000_000, 100, 4] };

/** Sends all requests, some at a time; gives the seconds and the share that was answered 200. */
async function sendAll(url, requests, atOnce) {
  const queue = [...requests];
  let accepted = 0;
  const startMs = performance.now();
  const worker = async () => {
    for (let body = queue.shift(); body !== undefined; body = queue.shift()) {
      let status = 0;
      // A refusal is paced as the recorder would, and tried again.
      while (status !== 200) {
        ({ status } = await send(url, body));
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
      }
      accepted += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { seconds: (performance.now() - startMs) / 1000, accepted };
}

it.each(Object.entries(SIZES))('payloads of %s', async (size, [bytes, count, atOnce]) => {
  const calls = Array.from({ length: count }, () => recorded(bytes));
  const requests = calls.map(({ key, part }) => partRequest(key, part));
  const total = requests.reduce((sum, request) => sum + request.length, 0);
  const rate = ({ seconds }) => `${(count / seconds).toFixed(0)}/s, ${(total / 1e6 / seconds).toFixed(1)} MB/s`;
  const figures = { payloads: `${count}, ${(total / 1e6).toFixed(1)} MB in all, ${atOnce} at a time` };

  const bare = await startCollector(inRepository('test/lanes/pipeline/drills/bare.yaml'));
  figures['bare collector, dropped'] = rate(await sendAll(bare.payloadUrl, requests, atOnce));
  await bare.stop();

  for (const config of ['collector', 'queue', 'file']) {
    const servers = await pipeline(config);
    figures[`${config}.yaml, answered`] = rate(await sendAll(servers.collector.payloadUrl, requests, atOnce));
    const startMs = performance.now();
    while ((await storedKeys(servers)).size < count) await new Promise((resolve) => setTimeout(resolve, 200));
    if (config === 'queue')
      figures['queue.yaml, stored after that'] = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
    expect((await storedKeys(servers)).size).toBe(count);
    await servers.stop();
  }
  report(`payloads of ${size}`, figures);
});

it('a program feels nothing of it', async () => {
  const provider = await startProvider();
  const servers = await pipeline('collector');
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-drill-latency-'));
  try {
    const burst = async (env, preload = true) => {
      const program = await runMeasured(inRepository('test/lanes/pipeline/drills/burst.mjs'), {
        // Servers and program share this machine: a program that never rests would measure how they share it.
        args: [provider.url, '200', '1', '2000', '30'],
        env: { ORANGEBOX_EXIT_FLUSH_MS: '60000', ...env },
        preload,
      });
      return JSON.parse(program.stdout);
    };
    const ways = {
      'without the preload': () => burst({}, false),
      'recorded, kept here': () => burst({ ORANGEBOX_DIR: join(directory, 'local') }),
      'recorded, through the pipeline': () => burst({ ORANGEBOX_DIR: join(directory, 'sent'), ...servers.programEnv }),
    };
    const figures = {};
    const best = {};
    // By turns, so that a busy minute of the machine falls on all of them; the best of each counts.
    for (let round = 0; round < 3; round++) {
      for (const [name, run] of Object.entries(ways)) {
        const { p50, p95 } = await run();
        if (!(best[name]?.p50 < p50)) best[name] = { p50, p95 };
      }
    }
    for (const [name, { p50, p95 }] of Object.entries(best))
      figures[name] = `${p50.toFixed(2)} ms (p50), ${p95.toFixed(2)} ms (p95)`;
    report('200 calls, one at a time, 30 ms apart', figures);
    expect(best['recorded, through the pipeline'].p50).toBeLessThan(best['recorded, kept here'].p50 + 2);
  } finally {
    await Promise.all([servers.stop(), provider.close()]);
    rmSync(directory, { recursive: true, force: true });
  }
});
