import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { createBucketStore, initBucket, type ObjectBucket, openBucket, type S3Checksum } from '@orangebox/store';
import { bucketContract } from '../../../packages/store/src/testing/bucket-suite.ts';
import { storeContract } from '../../../packages/store/src/testing/contract-suite.ts';
import { startWeed, type WeedServer } from './servers/index.ts';

let weed: WeedServer;
beforeAll(async () => {
  weed = await startWeed();
  await initBucket('s3://contract', { env: weed.clientEnv });
});
afterAll(() => weed.stop());

/** A place of its own in the server's bucket. */
function emptyBucket(checksum: S3Checksum): ObjectBucket {
  const url = `s3://contract/${randomBytes(6).toString('hex')}`;
  return openBucket(url, { env: weed.clientEnv, s3: { checksum } });
}

describe.each<S3Checksum>(['default', 'when_required'])('a real S3 server, checksums %s', (checksum) => {
  describe('its bucket', () => {
    bucketContract(async () => ({ bucket: emptyBucket(checksum), remove: () => {} }));
  });

  describe('the store of it', () => {
    storeContract(
      async ({ calls }) => {
        const store = createBucketStore(emptyBucket(checksum));
        for (const call of calls) await store.put(call);
        return store;
      },
      { every: { sinceUnixMs: 0 } },
    );
  });
});
