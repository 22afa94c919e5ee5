import { snapshotKey } from '@orangebox/schema';
import { createBucketStore, createJaegerSource, createMemoryBucket } from '@orangebox/store';
import { expect, it } from 'vitest';
import { fakeJaeger } from '../../../../../test/cli/fake-jaeger.ts';
import { LeakSearch } from './canary-leak.ts';
import { makeCanary } from './canary-snapshot.ts';
import { watch } from './canary-watch.ts';

it('counts the answers that hold the trace, and none that only says that there is no such page', async () => {
  const { snapshot, marker } = makeCanary(Date.now());
  const bucket = createMemoryBucket();
  await createBucketStore(bucket).put(snapshot);
  // It has API v3 for traces by id, and answers 404 in the other one.
  const jaeger = await fakeJaeger([snapshot]);
  try {
    const seen = await watch(
      {
        traceId: snapshot.trace.traceId,
        key: snapshotKey(snapshot),
        source: createJaegerSource({ url: jaeger.url }),
        sourcePlace: { url: jaeger.url, headers: {}, basis: '--source' },
        bucket,
        leak: new LeakSearch(marker, Buffer.alloc(100, 'x')),
      },
      5_000,
      1,
    );
    expect(seen).toMatchObject({ twins: 0, stored: { digest: snapshot.digest } });
    expect(seen.leak).toBeUndefined();
    const looks = jaeger.asked.filter((path) => path.startsWith('/api/traces/')).length;
    expect(looks).toBeGreaterThan(0);
    expect(seen.answers).toBe(looks);
  } finally {
    await jaeger.stop();
  }
});
