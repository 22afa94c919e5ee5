import { formatSnapshotKey, SNAPSHOT_OBJECT_NAME } from '@orangebox/schema';
import { expect, it } from 'vitest';
import type { ObjectBucket } from './bucket.ts';
import { keysOfTrace } from './bucket-keys.ts';

it('gives the keys of a trace of very many calls', async () => {
  const traceId = 'a'.repeat(32);
  const keyOf = (n: number): string =>
    formatSnapshotKey({
      date: '20261130',
      traceId,
      spanId: n.toString(16).padStart(16, '0'),
      digest16: '0'.repeat(16),
    });
  const bucket = {
    prefixes: async () => ['v1/20261130/'],
    async *list() {
      for (let n = 0; n < 200_000; n += 1) yield { name: `${keyOf(n)}/${SNAPSHOT_OBJECT_NAME}` };
    },
  } as unknown as ObjectBucket;
  const keys = await keysOfTrace(bucket, traceId, {});
  expect(keys).toHaveLength(200_000);
  expect(keys.at(-1)).toBe(keyOf(199_999));
});
