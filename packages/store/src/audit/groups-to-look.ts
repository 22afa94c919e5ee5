/** What an audit looks at: all that stands under the days of its range, and what its promises name elsewhere. */
import type { ObjectBucket } from '../objects/bucket.ts';
import type { AuditRange } from './audit-range.ts';
import { partsOf } from './finding-facts.ts';
import { type ForeignObject, keyGroup, type KeyGroup, keyGroups } from './key-groups.ts';
import type { Promises } from './promises.ts';

/** Each day is listed once. */
export async function* groupsToLook(
  bucket: ObjectBucket,
  days: readonly string[],
  promises: Promises,
  range: AuditRange,
): AsyncGenerator<KeyGroup | ForeignObject, void, undefined> {
  for (const date of days) yield* keyGroups(bucket, date);
  // A span's clock and its call's may stand on two sides of midnight, and a key may name any day.
  const listed = new Set(days);
  for (const promised of promises.byKey.values()) {
    if (!range.has(promised.startUnixNano) || listed.has(partsOf(promised.key).date)) continue;
    const group = await keyGroup(bucket, promised.key);
    if (group) yield group;
  }
}
