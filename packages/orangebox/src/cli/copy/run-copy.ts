/** Copies with several snapshots under way. A failure of one does not stop the others; a place that is gone does. */
import { OrangeboxError } from '@orangebox/schema';
import type { ListFilter } from '@orangebox/store';
import { isUnreachable } from '../place-faults.ts';
import type { CopyPlace } from './copy-place.ts';
import { CopyTarget } from './copy-target.ts';
import { type CopyItem, itemsOf } from './source-items.ts';

/** What could not be copied, and why. */
export interface CopyFailure {
  key: string;
  error: OrangeboxError;
}

/** What a copy did; filled while it runs. */
export interface CopyCounts {
  copied: number;
  /** They were there already. */
  there: number;
  /** Of these, those that the program had sent by itself, and those that it had not; of objects nobody knows. */
  sent: number;
  unsent: number;
  failures: CopyFailure[];
  /** The copy ended early: a place did not answer any more. */
  gaveUp: boolean;
}

const CONCURRENCY = 8;
/** So many failures to reach a place, or to find room in it, one after the other, end the copy. */
const UNREACHABLE_MAX = 8;

/** Makes counts for {@link runCopy}. */
export function newCounts(): CopyCounts {
  return { copied: 0, there: 0, sent: 0, unsent: 0, failures: [], gaveUp: false };
}

function countSent({ sent }: CopyItem, counts: CopyCounts): void {
  if (sent === true) counts.sent++;
  else if (sent === false) counts.unsent++;
}

/** Copies what the filter takes. Rejects when a place cannot be listed. */
export async function runCopy(from: CopyPlace, to: CopyPlace, filter: ListFilter, counts: CopyCounts): Promise<void> {
  const target = new CopyTarget(to);
  const items = itemsOf(from, filter)[Symbol.asyncIterator]();
  let unreachable = 0;
  const copyOne = async (item: CopyItem): Promise<void> => {
    try {
      const standing = await target.standing(item.key);
      if (standing === 'there') {
        counts.there++;
        countSent(item, counts);
        return;
      }
      const snapshot = await item.load();
      if (snapshot === undefined) return;
      if (standing === 'missing') await target.put(snapshot);
      else target.addRow(snapshot);
      if (standing === 'missing') counts.copied++;
      else counts.there++;
      countSent(item, counts);
      unreachable = 0;
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      counts.failures.push({ key: item.key, error });
      unreachable = error.code === 'OBX_STORE_FULL' || isUnreachable(error) ? unreachable + 1 : 0;
      if (unreachable >= UNREACHABLE_MAX) counts.gaveUp = true;
    }
  };
  const worker = async (): Promise<void> => {
    while (!counts.gaveUp) {
      const next = await items.next();
      if (next.done === true) return;
      await copyOne(next.value);
    }
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  } finally {
    await items.return?.();
    await target.finish();
    await from.store.close();
  }
}
