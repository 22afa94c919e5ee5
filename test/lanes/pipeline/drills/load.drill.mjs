/** Large payloads, and many at once: nothing lost, memory within bounds. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProvider } from '../../../fixtures/provider/server.mjs';
import { inRepository } from '../../../helpers/repository.ts';
import { pipeline } from '../pipeline.ts';
import { mebibytes, metricSum, missingKeys, promisedKeys, report, runMeasured, serverMemory } from './measured.mjs';

const BURST = inRepository('test/lanes/pipeline/drills/burst.mjs');

/** Runs the burst through a configuration; gives the figures and checks that nothing is lost. */
async function drill(title, config, [calls, atOnce, promptBytes], limits) {
  const provider = await startProvider();
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-drill-load-'));
  const servers = await pipeline(config);
  try {
    const args = [provider.url, calls, atOnce, promptBytes].map(String);
    const program = await runMeasured(BURST, {
      args,
      env: {
        ...servers.programEnv,
        ORANGEBOX_DIR: directory,
        ORANGEBOX_DIR_BYTES: String(8 * 2 ** 30),
        ORANGEBOX_EXIT_FLUSH_MS: '60000',
      },
    });
    const { seconds, p50, p95 } = JSON.parse(program.stdout);
    const bare = await runMeasured(BURST, { args, preload: false });
    const keys = await promisedKeys(directory);
    const missing = await missingKeys(servers, keys);
    const memory = serverMemory(servers);
    report(`${title} through ${config}.yaml`, {
      calls,
      'at a time': atOnce,
      promised: keys.length,
      lost: missing.length,
      'written twice': await metricSum(
        `${servers.archiver.url}/metrics`,
        'orangebox_archiver_payloads_total',
        'duplicate',
      ),
      'refused with 503': await metricSum(servers.collector.telemetryUrl, 'otelcol_receiver_refused_spans', 'payload'),
      'the program called for': `${seconds.toFixed(1)} s, ${(calls / seconds).toFixed(0)} calls/s`,
      'a call took': `${p50.toFixed(1)} ms (p50), ${p95.toFixed(1)} ms (p95)`,
      'until all was sent': `${program.seconds.toFixed(1)} s`,
      'program peak RSS': `${mebibytes(program.peakRssBytes)}, ${mebibytes(bare.peakRssBytes)} without the preload`,
      ...memory,
    });
    expect([program.code, program.stderr, keys.length, missing]).toEqual([0, '', calls, []]);
    expect(servers.collector.peakRssBytes()).toBeLessThan(limits.collectorBytes);
    expect(servers.archiver.peakRssBytes()).toBeLessThan(limits.archiverBytes);
    expect(program.peakRssBytes).toBeLessThan(limits.programBytes);
  } finally {
    await Promise.all([servers.stop(), provider.close()]);
    rmSync(directory, { recursive: true, force: true });
  }
}

describe.each(['collector', 'queue'])('%s.yaml', (config) => {
  it('takes payloads of 30 MiB', () =>
    drill('10 calls of 30 MiB', config, [10, 2, 30 * 2 ** 20], {
      collectorBytes: 1024 * 2 ** 20,
      archiverBytes: 768 * 2 ** 20,
      programBytes: 1536 * 2 ** 20,
    }));

  it('takes 5,000 calls as fast as they go', () =>
    drill('5,000 calls of 10 KB', config, [5000, 32, 10_000], {
      collectorBytes: 1024 * 2 ** 20,
      archiverBytes: 512 * 2 ** 20,
      programBytes: 768 * 2 ** 20,
    }));
});
