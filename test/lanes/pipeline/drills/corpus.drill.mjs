/** Every exchange of the corpus, recorded in a program under the preload, through the collector to the store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hasCorpus, loadCorpus } from '../../../corpus/load.mjs';
import { startCorpusServer } from '../../../corpus/server.mjs';
import { callSnapshotsIn } from '../../../corpus/snapshots.mjs';
import { inRepository } from '../../../helpers/repository.ts';
import { pipeline } from '../pipeline.ts';
import { bucketOf, documentOf, storedDocument } from '../stored-objects.ts';
import { mebibytes, metricSum, missingKeys, report, runMeasured, serverMemory } from './measured.mjs';

it.skipIf(!hasCorpus()).each(['collector', 'queue'])(
  '%s.yaml: all of the corpus is in the store, byte for byte',
  async (config) => {
    const exchanges = loadCorpus();
    const provider = await startCorpusServer(exchanges);
    const directory = mkdtempSync(join(tmpdir(), 'orangebox-drill-corpus-'));
    const servers = await pipeline(config);
    try {
      const program = await runMeasured(inRepository('test/corpus/wire-client.mjs'), {
        args: [provider.url, 'fetch'],
        env: {
          ...servers.programEnv,
          ORANGEBOX_DIR: directory,
          ORANGEBOX_INCLUDE: '*',
          ORANGEBOX_DIR_BYTES: String(4 * 2 ** 30),
          ORANGEBOX_EXIT_FLUSH_MS: '60000',
        },
      });
      expect([program.code, program.stderr]).toEqual([0, '']);
      const calls = [];
      for await (const { snapshot, call } of callSnapshotsIn(directory)) {
        // The hashes of the conversation stand beside the call, as derived facts do; what is sent carries them along.
        calls.push({ snapshot: call.chain ? { ...snapshot, chain: call.chain } : snapshot, key: call.key });
      }
      const missing = await missingKeys(
        servers,
        calls.map(({ key }) => key),
      );
      const bucket = bucketOf(servers);
      let equal = 0;
      let bytes = 0;
      for (const { snapshot, key } of calls) {
        const [document, stored] = [await documentOf(snapshot), await storedDocument(bucket, key)];
        bytes += document.length;
        if (stored?.equals(document)) equal += 1;
      }
      await bucket.close();
      report(`corpus through ${config}.yaml`, {
        exchanges: exchanges.length,
        snapshots: calls.length,
        'stored, bytes equal': equal,
        missing: missing.length,
        'written twice': await metricSum(
          `${servers.archiver.url}/metrics`,
          'orangebox_archiver_payloads_total',
          'duplicate',
        ),
        'documents in all': mebibytes(bytes),
        'program ran, all sent': `${program.seconds.toFixed(1)} s, ${(calls.length / program.seconds).toFixed(0)} snapshots/s`,
        'program peak RSS': mebibytes(program.peakRssBytes),
        ...serverMemory(servers),
      });
      expect({ missing, calls: calls.length, equal }).toEqual({
        missing: [],
        calls: exchanges.length,
        equal: exchanges.length,
      });
    } finally {
      await Promise.all([servers.stop(), provider.close()]);
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
