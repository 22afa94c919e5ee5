/** Which of many calls go, oldest first, without sorting them all at once. */
import type { KnownCall } from './calls.ts';
import type { Pace } from './pace.ts';

const BUCKETS = 512;
/** So few are sorted. */
const SORTED_MAX = 64;
/** Calls between two looks at the clock. */
const STEP = 256;

/**
 * Start time up to which calls have to go (inclusive) so that `neededBytes` become free; calls of one time go together.
 * Infinity where all of them are too few.
 */
export async function oldestThresholdMs(calls: readonly KnownCall[], neededBytes: number, pace: Pace): Promise<number> {
  let among = calls;
  let needed = neededBytes;
  // Each round looks into one bucket of the one before: times that differ at all are told apart soon.
  while (among.length > SORTED_MAX) {
    const { min, max } = await rangeOf(among, pace);
    if (min === max) return min;
    const width = (max - min) / BUCKETS;
    const bucketOf = ({ startMs }: KnownCall): number => Math.min(BUCKETS - 1, Math.floor((startMs - min) / width));
    const sums = new Float64Array(BUCKETS);
    await each(among, pace, (call) => {
      const at = bucketOf(call);
      sums[at] = (sums[at] ?? 0) + call.sizeBytes;
    });
    let at = 0;
    while (at < BUCKETS && (sums[at] ?? 0) < needed) needed -= sums[at++] ?? 0;
    if (at === BUCKETS) return Number.POSITIVE_INFINITY;
    const next: KnownCall[] = [];
    await each(among, pace, (call) => {
      if (bucketOf(call) === at) next.push(call);
    });
    // Times so near to each other that numbers can't part them.
    if (next.length === among.length) return max;
    among = next;
  }
  for (const { startMs, sizeBytes } of [...among].sort((a, b) => a.startMs - b.startMs)) {
    needed -= sizeBytes;
    if (needed <= 0) return startMs;
  }
  return Number.POSITIVE_INFINITY;
}

async function rangeOf(calls: readonly KnownCall[], pace: Pace): Promise<{ min: number; max: number }> {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  await each(calls, pace, ({ startMs }) => {
    min = Math.min(min, startMs);
    max = Math.max(max, startMs);
  });
  return { min, max };
}

/** Visits each, resting in between. */
export async function each<T>(items: Iterable<T>, pace: Pace, visit: (item: T) => void): Promise<void> {
  let n = 0;
  for (const item of items) {
    visit(item);
    if (++n % STEP === 0) await pace.restIfOver();
  }
}
