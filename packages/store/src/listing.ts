/** Filtering, ordering and short references, the same for every store. */
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { type CoarseFacts, compareStarts, holdsText, isSelective, passesCoarse, passesEntry } from './filter.ts';
import { normalKey } from './safe-fs.ts';
import { ShortRefs } from './short-refs.ts';
import type { ListFilter, SnapshotStore, StoredEntry } from './store.ts';

/** Something that can become an entry. */
export interface Candidate extends CoarseFacts {
  /** Undefined when it went away meanwhile. */
  read(): Promise<StoredEntry | undefined>;
}

/** The entries that a filter takes, in its order, with their references. One entry is read at a time. */
export async function* selectEntries(
  candidates: Candidate[],
  filter: ListFilter,
  load: (entry: StoredEntry) => Promise<Snapshot>,
  refs: ShortRefs = new ShortRefs(candidates.map((candidate) => candidate.spanId)),
): AsyncGenerator<StoredEntry, void, undefined> {
  const sorted = candidates.filter((candidate) => passesCoarse(candidate, filter)).sort(compareStarts);
  if (filter.order !== 'oldest') sorted.reverse();
  let left = filter.limit ?? Number.POSITIVE_INFINITY;
  for (const candidate of sorted) {
    if (left <= 0) return;
    const entry = await candidate.read();
    if (!entry || !passesEntry(entry, filter)) continue;
    if (filter.text !== undefined && !(await entryHoldsText(entry, filter.text, load))) continue;
    left -= 1;
    yield { ...entry, ref: refs.of(entry.trace.spanId) };
  }
}

async function entryHoldsText(
  entry: StoredEntry,
  text: string,
  load: (entry: StoredEntry) => Promise<Snapshot>,
): Promise<boolean> {
  try {
    return holdsText(await load(entry), text);
  } catch (error) {
    // What is lost or damaged holds no text; the listing goes on.
    if (error instanceof OrangeboxError) return false;
    throw error;
  }
}

/** The entries that a deletion means; an empty selection means none. */
export async function collectSelected(store: SnapshotStore, selection: string[] | ListFilter): Promise<StoredEntry[]> {
  const filter = Array.isArray(selection) ? { keys: selection.flatMap((key) => normalKey(key) ?? []) } : selection;
  if (Array.isArray(selection) ? selection.length === 0 : !isSelective(filter)) return [];
  const entries: StoredEntry[] = [];
  for await (const entry of store.list(filter)) entries.push(entry);
  return entries;
}
