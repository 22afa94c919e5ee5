/** What an archiver put aside, counted by its reason. */
import { QUARANTINE_PREFIX } from '@orangebox/schema';
import type { BucketObject, ObjectBucket } from '../objects/bucket.ts';
import { sideBySide } from './side-by-side.ts';

/** Reason documents that are opened; of more, the rest is counted without a reason. */
const OPENED_MAX = 2000;

/** A reason document has a few hundred bytes. */
const REASON_MAX_BYTES = 64 * 1024;

/**
 * Counts the payloads put aside on the given days (`YYYYMMDD`); the most frequent reason comes first.
 *
 * @throws OrangeboxError `OBX_STORE_*`.
 */
export async function countQuarantine(
  bucket: ObjectBucket,
  days: readonly string[],
): Promise<{ reason: string; count: number }[]> {
  const counts = new Map<string, number>();
  let opened = 0;
  async function* documents(): AsyncGenerator<BucketObject, void, undefined> {
    for (const day of days) {
      for await (const object of bucket.list(`${QUARANTINE_PREFIX}${day}/`))
        if (object.name.endsWith('.json')) yield object;
    }
  }
  const limits = { concurrency: 8, maxBytes: 8 * REASON_MAX_BYTES };
  await sideBySide(
    documents(),
    limits,
    () => REASON_MAX_BYTES,
    async ({ name, sizeBytes }) => {
      const isOpened = opened++ < OPENED_MAX && sizeBytes <= REASON_MAX_BYTES;
      const reason = isOpened ? reasonOf(await bucket.read(name, REASON_MAX_BYTES)) : 'unknown';
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    },
  );
  return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count);
}

function reasonOf(bytes: Uint8Array | undefined): string {
  try {
    const document: unknown = JSON.parse(Buffer.from(bytes ?? []).toString('utf8'));
    const reason = typeof document === 'object' && document !== null && 'reason' in document ? document.reason : '';
    return typeof reason === 'string' && /^[a-z][a-z0-9_-]{0,40}$/.test(reason) ? reason : 'unknown';
  } catch {
    return 'unknown';
  }
}
