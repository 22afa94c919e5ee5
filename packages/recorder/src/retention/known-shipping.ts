/** Whether anything in a directory was shipped: where nothing was, a sweep need not look for it in all files. */
import type { RecordTypeName } from '@orangebox/schema';
import type { ListedFile } from './directory-files.ts';
import { walkFrames } from './frame-walk.ts';
import type { Pace } from './pace.ts';
import { openPlain } from './series-scan.ts';

/** Remembers files in which nothing is called shipped, so that only new ones are looked at. */
export class ShippingKnowledge {
  #withoutShipped: Map<string, number> = new Map();

  /** Looks through files until one says that something was shipped. */
  async isAnyShipped(files: readonly ListedFile[], pace: Pace): Promise<boolean> {
    const known = this.#withoutShipped;
    this.#withoutShipped = new Map();
    for (const file of files) {
      if (known.get(file.path) !== file.sizeBytes && (await hasShipped(file, pace))) return true;
      this.#withoutShipped.set(file.path, file.sizeBytes);
    }
    return false;
  }
}

const SHIPPED: ReadonlySet<RecordTypeName> = new Set<RecordTypeName>(['shipped']);

async function hasShipped({ path, sizeBytes }: ListedFile, pace: Pace): Promise<boolean> {
  const handle = await openPlain(path, pace);
  if (!handle) return false;
  let isFound = false;
  try {
    const visit = (): boolean => {
      isFound = true;
      return false;
    };
    await walkFrames(handle, sizeBytes, pace, visit, { types: SHIPPED });
  } catch {
    // What can't be read says nothing.
  } finally {
    await pace.io(handle.close());
  }
  return isFound;
}
