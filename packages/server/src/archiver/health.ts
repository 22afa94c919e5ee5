/** Whether the archiver can take requests: its store answers, it is not stopping, its memory is not full. */
import type { ObjectBucket } from '@orangebox/store';

const CACHE_MS = 5000;

/** Looks at a store, at most once in five seconds. Gives the reason why it is not ready. */
export function createReadiness(
  bucket: ObjectBucket,
  nowMs: () => number = Date.now,
): () => Promise<string | undefined> {
  let checkedMs = Number.NEGATIVE_INFINITY;
  let result: Promise<string | undefined> = Promise.resolve(undefined);
  return () => {
    if (nowMs() - checkedMs >= CACHE_MS) {
      checkedMs = nowMs();
      result = bucket.check().then(
        () => undefined,
        (error: unknown) =>
          error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'store',
      );
    }
    return result;
  };
}
