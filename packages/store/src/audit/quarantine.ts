/** What an archiver put aside, counted by its reason. */
import type { ObjectBucket } from '../objects/bucket.ts';

/** Objects looked at; more are not worth a longer listing. */
const LISTED_MAX = 100_000;

/**
 * Counts the quarantined payloads of the given days (`YYYYMMDD`, by when they were put aside); the most frequent reason
 * comes first.
 */
export async function countQuarantine(
  bucket: ObjectBucket,
  prefix: string,
  days: readonly string[],
): Promise<{ reason: string; count: number }[]> {
  const counts = new Map<string, number>();
  let listed = 0;
  for (const day of days) {
    for await (const { name } of bucket.list(`${prefix}${day}/`)) {
      if (++listed > LISTED_MAX) break;
      const reason = reasonOf(name.slice(prefix.length + day.length + 1));
      if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count);
}

/** The first path segment that is a word. */
function reasonOf(rest: string): string | undefined {
  return rest.split('/').find((segment) => /^[a-z][a-z_-]{2,40}$/.test(segment)) ?? 'other';
}
