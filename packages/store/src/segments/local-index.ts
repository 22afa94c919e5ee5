/** The index over all series of a segments directory. */
import type { StoreProblem } from '../store.ts';
import { compareStarts } from '../filter.ts';
import { joinSessions } from '../session-join.ts';
import { ShortRefs } from '../short-refs.ts';
import { RecentFacts } from './entry-facts.ts';
import { findSegmentFiles, type SegmentFile, seriesName } from './segment-file.ts';
import type { IndexedRecord } from './indexed-record.ts';
import { SeriesIndex } from './series-index.ts';

/** One look at a segments directory. Records are oldest first. */
export interface SegmentView {
  records: IndexedRecord[];
  /** Session ids that go on the session of an earlier process, and its id. */
  joined: Map<string, string>;
  refs: ShortRefs;
}

/** Keeps the index of a directory (or of one file) and brings it up to date. */
export class LocalIndex {
  readonly #find: () => Promise<SegmentFile[]>;
  readonly #series: Map<string, SeriesIndex> = new Map();
  readonly #recent: RecentFacts = new RecentFacts();

  constructor(directory: string, files?: () => Promise<SegmentFile[]>) {
    this.#find = files ?? ((): Promise<SegmentFile[]> => findSegmentFiles(directory));
  }

  /** Reads what is new. */
  async refresh(): Promise<void> {
    await updateSeries(this.#series, await this.#find(), this.#recent);
  }

  /** The record of a span id, as of the last refresh. */
  find(spanId: string): IndexedRecord | undefined {
    for (const series of this.#series.values()) {
      const record = series.find(spanId);
      if (record) return record;
    }
    for (const series of this.#series.values()) {
      const record = series.open().find((open) => open.spanId === spanId);
      if (record) return record;
    }
    return undefined;
  }

  /** Reads what is new and gives everything. */
  async look(): Promise<SegmentView> {
    await this.refresh();
    const records: IndexedRecord[] = [];
    for (const series of this.#series.values()) for (const call of series.calls) records.push(call);
    records.push(...this.#open());
    records.sort(compareStarts);
    const joined = joinSessions(records.map((record) => ({ ...record, origin: record.series.name })));
    return { records, joined, refs: new ShortRefs(records.map((record) => record.spanId)) };
  }

  /**
   * Exchanges that no call names, each once: what a thread that samples moves from its journal to the segment stands in both
   * until the journal says so, and for good where the process was killed between the two.
   */
  #open(): Iterable<IndexedRecord> {
    const all = [...this.#series.values()];
    const found = new Map<string, IndexedRecord>();
    for (const open of all.flatMap((series) => series.open())) {
      if (!all.some((series) => series.find(open.spanId))) found.set(open.spanId, open);
    }
    return found.values();
  }

  /** All series as of the last look. */
  get series(): Iterable<SeriesIndex> {
    return this.#series.values();
  }

  /** Forgets what is known of a series, so that the next look reads it anew. */
  forget(name: string): void {
    this.#series.delete(name);
  }

  /** Problems as of the last look. */
  problems(): StoreProblem[] {
    return [...this.#series.values()].flatMap((series) => [...series.problems.values()]);
  }
}

/** Sorts files into series; keeps those that are known already. */
async function updateSeries(
  known: Map<string, SeriesIndex>,
  files: readonly SegmentFile[],
  recent: RecentFacts,
): Promise<void> {
  const present = new Set(files.map((file) => file.path));
  for (const [name, series] of known) {
    // A file that is gone or became smaller was purged: the series is read anew.
    const changed = series.files.some(
      ({ file, readTo }) =>
        !present.has(file.path) || (files.find((now) => now.path === file.path)?.sizeBytes ?? 0) < readTo,
    );
    if (changed) known.delete(name);
  }
  for (const file of files) {
    const name = seriesName(file.id);
    let series = known.get(name);
    if (!series) {
      series = new SeriesIndex(name, recent);
      known.set(name, series);
    }
    // Reading is synchronous; other work of the process gets its turn between files.
    if (series.update(file)) await new Promise((resolve) => setImmediate(resolve));
  }
}
