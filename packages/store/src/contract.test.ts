import { describe } from 'vitest';
import { join } from 'node:path';
import { storeContract } from './testing/contract-suite.ts';
import { createMemoryStore } from './memory-store.ts';
import { createBucketStore } from './objects/bucket-store.ts';
import { createDirectoryBucket } from './objects/directory-bucket.ts';
import { createDirectoryStore } from './objects/directory-store.ts';
import { createMemoryBucket } from './objects/memory-bucket.ts';
import { createSegmentStore } from './segments/segment-store.ts';

describe('the segment store', () => {
  storeContract(async ({ segments }, directory) => {
    segments.close();
    return createSegmentStore(directory);
  });
});

describe('the directory store', () => {
  storeContract(async ({ calls }, directory) => {
    const store = createDirectoryStore(join(directory, 'tree'));
    for (const call of calls) await store.put(call);
    return store;
  });
});

describe('the memory store', () => {
  storeContract(async ({ calls }) => {
    const store = createMemoryStore();
    for (const call of calls) await store.put(call);
    return store;
  });
});

describe.each(['memory', 'directory'])('the store of a bucket in a %s', (kind) => {
  storeContract(
    async ({ calls }, directory) => {
      const bucket = kind === 'memory' ? createMemoryBucket() : createDirectoryBucket(join(directory, 'tree'));
      const store = createBucketStore(bucket);
      for (const call of calls) await store.put(call);
      return store;
    },
    { every: { sinceUnixMs: 0 } },
  );
});
