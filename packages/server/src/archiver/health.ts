/** Whether the archiver can take requests: its store answers, it is not stopping, its memory is not full. */
import type { ObjectBucket } from '@orangebox/store';

const CACHE_MS = 5000;

/** How long a failed write counts: no write may follow that would tell, since who is not ready is sent nothing. */
const FAILED_WRITE_MS = 10_000;

/** Whether the store can be used. */
export interface Readiness {
  /** The reason why it cannot. */
  problem(): Promise<string | undefined>;
  /** What became of a write: undefined, or the code of the store's failure. */
  wrote(code: string | undefined): void;
}

/**
 * Looks at a store, at most once in five seconds. A store that is full answers that look too: after a write has failed it
 * is not ready, until one succeeds or ten seconds have passed.
 */
export function createReadiness(bucket: ObjectBucket, nowMs: () => number = Date.now): Readiness {
  let checkedMs = Number.NEGATIVE_INFINITY;
  let result: Promise<string | undefined> = Promise.resolve(undefined);
  let failed: { code: string; untilMs: number } | undefined;
  return {
    problem: async () => {
      if (failed && nowMs() < failed.untilMs) return failed.code;
      if (nowMs() - checkedMs >= CACHE_MS) {
        checkedMs = nowMs();
        result = bucket.check().then(
          () => undefined,
          (error: unknown) =>
            error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'store',
        );
      }
      return result;
    },
    wrote: (code) => {
      failed = code === undefined ? undefined : { code, untilMs: nowMs() + FAILED_WRITE_MS };
    },
  };
}
