/** Where copies go: what is there already, and how it is written. */
import { parseSnapshotKey, type Snapshot, SNAPSHOT_OBJECT_NAME } from '@orangebox/schema';
import {
  createIndexWriter,
  indexRowOf,
  type IndexWriter,
  keysOfDay,
  type ObjectBucket,
  readIndex,
} from '@orangebox/store';
import type { CopyPlace } from './copy-place.ts';

/** What a target has of a day. */
interface Day {
  /** Keys with any objects at all. */
  there: ReadonlySet<string>;
  /** Keys that a list shows. */
  listed: ReadonlySet<string>;
}

const DAY_MS = 86_400_000;

/** How a key stands in the target. */
export type Standing =
  /** Nothing is there. */
  | 'missing'
  /** It is there, and lists show it. */
  | 'there'
  /** It is there, but no index object has its row: a copy that was ended in between. */
  | 'unlisted';

/** The target of a copy. */
export class CopyTarget {
  readonly #place: CopyPlace;
  readonly #index: IndexWriter | undefined;
  readonly #days = new Map<string, Promise<Day>>();

  constructor(place: CopyPlace) {
    this.#place = place;
    this.#index = place.bucket && createIndexWriter(place.bucket);
  }

  /** How a key stands, as of the first question about its day. */
  async standing(key: string): Promise<Standing> {
    const { bucket, store } = this.#place;
    const day = bucket === undefined ? '' : (parseSnapshotKey(key)?.date ?? '');
    const known = this.#days.get(day) ?? (bucket === undefined ? this.#recorded() : lookAt(bucket, day));
    if (!this.#days.has(day)) {
      // Days come one after the other: what lies behind is not asked for again, but for what is under way.
      for (const old of [...this.#days.keys()].slice(0, -1)) this.#days.delete(old);
      this.#days.set(day, known);
    }
    const { there, listed } = await known;
    if (!there.has(key)) return 'missing';
    // Parts of a writer that did not finish are objects too.
    if (bucket !== undefined && (await bucket.stat(`${key}/${SNAPSHOT_OBJECT_NAME}`)) === undefined) {
      const isWhole = await store.get(key).then(
        (snapshot) => snapshot !== undefined,
        () => false,
      );
      if (!isWhole) return 'missing';
    }
    return listed.has(key) ? 'there' : 'unlisted';
  }

  async put(snapshot: Snapshot): Promise<void> {
    await this.#place.store.put(snapshot);
  }

  /** Makes lists show a snapshot that is there. */
  addRow(snapshot: Snapshot): void {
    this.#index?.add(indexRowOf(snapshot, Buffer.byteLength(JSON.stringify(snapshot))));
  }

  /** Writes what is left. */
  async finish(): Promise<void> {
    await this.#index?.close();
    await this.#place.store.close();
  }

  async #recorded(): Promise<Day> {
    const there = new Set<string>();
    for await (const { key, status } of this.#place.store.list()) {
      if (key !== undefined && status === 'stored') there.add(key);
    }
    return { there, listed: there };
  }
}

async function lookAt(bucket: ObjectBucket, day: string): Promise<Day> {
  const there = new Set<string>();
  for await (const key of keysOfDay(bucket, day)) there.add(key);
  const listed = new Set<string>();
  if (there.size > 0) {
    const startMs = Date.UTC(Number(day.slice(0, 4)), Number(day.slice(4, 6)) - 1, Number(day.slice(6, 8)));
    const rows = readIndex(bucket, { sinceUnixMs: startMs, untilUnixMs: startMs + DAY_MS });
    for await (const { key } of rows) listed.add(key);
  }
  return { there, listed };
}
