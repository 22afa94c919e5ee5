/** The local store: segments as the recorder wrote them, and `objects/` for what was materialised or fetched. */
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  OBJECTS_DIRECTORY,
  OrangeboxError,
  parseSegmentFileName,
  SEGMENTS_DIRECTORY,
  type Snapshot,
  snapshotKey,
} from '@orangebox/schema';
import { type Candidate, collectSelected, selectEntries } from '../listing.ts';
import { createDirectoryStore, type DirectoryStore } from '../objects/directory-store.ts';
import { fsError, normalKey } from '../safe-fs.ts';
import { ShortRefs } from '../short-refs.ts';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '../store.ts';
import { type LiveThread, liveThreads } from './live-processes.ts';
import { LocalIndex } from './local-index.ts';
import { isPurgeable, purgeRecords } from './purge.ts';
import { readEntry } from './entry-facts.ts';
import { loadRecord } from './read-record.ts';
import type { SegmentFile } from './segment-file.ts';
import type { IndexedRecord } from './indexed-record.ts';

/** Calls or bytes that recording processes did not keep, by reason. */
export interface DroppedCount {
  reason: string;
  count: number;
  /** The recorder's last message about it. */
  message?: string;
}

/** Opens the store of an `ORANGEBOX_DIR`. Nothing is made or read yet. */
export function createSegmentStore(directory: string): SegmentStore {
  return new SegmentStore(directory, new LocalIndex(join(directory, SEGMENTS_DIRECTORY)));
}

/** Opens a single segment file as a store. */
export function createSegmentFileStore(path: string): SegmentStore {
  // A renamed file is read too; its name then says nothing of the process.
  const id = parseSegmentFileName(basename(path)) ?? { host: '', pid: 0, threadId: 0, startUnixMs: 0, n: 0 };
  const find = async (): Promise<SegmentFile[]> => {
    try {
      const facts = await stat(path);
      return [{ path, id, sizeBytes: facts.size, modifiedMs: facts.mtimeMs }];
    } catch (error) {
      throw fsError(error, path, 'read');
    }
  };
  return new SegmentStore(dirname(path), new LocalIndex(path, find), path);
}

/** Store of the calls in segments. */
export class SegmentStore implements SnapshotStore {
  readonly kind = 'segments';
  readonly location: string;
  readonly #index: LocalIndex;
  readonly #objects: DirectoryStore | undefined;

  /** @internal */
  constructor(directory: string, index: LocalIndex, file?: string) {
    this.location = file ?? directory;
    this.#index = index;
    this.#objects = file === undefined ? createDirectoryStore(join(directory, OBJECTS_DIRECTORY)) : undefined;
  }

  async get(key: string): Promise<Snapshot | undefined> {
    const normal = normalKey(key);
    if (normal === undefined) return undefined;
    await this.#index.refresh();
    const record = this.#index.find(normal.split('/')[3] ?? '');
    let fault: unknown;
    if (record) {
      try {
        const snapshot = loadRecord(record);
        if (snapshotKey(snapshot) === normal) return snapshot;
      } catch (error) {
        // Only the fault of what was asked for counts, not of a record with another digest.
        if (readEntry(record)?.key === normal) fault = error;
      }
    }
    // What bounds took from the segments may have been materialised before.
    const object = await this.#objects?.get(normal);
    if (!object && fault) throw fault;
    return object;
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    await this.#index.refresh();
    return this.#load(entry);
  }

  async #load(entry: StoredEntry): Promise<Snapshot> {
    const record = this.#index.find(entry.trace.spanId);
    if (!record) {
      if (entry.key !== undefined && this.#objects) return this.#objects.load(entry);
      throw new OrangeboxError('OBX_SNAPSHOT_LOST', `span ${entry.trace.spanId} is not in ${this.location} any more`, {
        hint: 'it was deleted since it was listed',
      });
    }
    try {
      return loadRecord(record);
    } catch (error) {
      const object = entry.key === undefined ? undefined : await this.#objects?.get(entry.key);
      if (object) return object;
      throw error;
    }
  }

  /** Keeps a snapshot under `objects/`. */
  async put(snapshot: Snapshot): Promise<string> {
    if (!this.#objects) {
      throw new OrangeboxError('OBX_STORE_READ_ONLY', `${this.location} is a single segment file`, {
        hint: 'name a directory to write to',
      });
    }
    return this.#objects.put(snapshot);
  }

  async *list(filter: ListFilter = {}): AsyncGenerator<StoredEntry, void, undefined> {
    const { records, refs, joined } = await this.#index.look();
    const bySpan = new Set(records.map((record) => record.spanId));
    const objects = (await this.#objects?.candidates(filter)) ?? [];
    const extra = objects.filter((candidate) => !bySpan.has(candidate.spanId));
    const all = extra.length === 0 ? refs : new ShortRefs([...bySpan, ...extra.map((candidate) => candidate.spanId)]);
    const own = records.filter((record) => mayMatch(record, filter, joined));
    const candidates = [...own.map((record) => this.#candidate(record, joined)), ...extra];
    yield* selectEntries(candidates, filter, (entry) => this.#load(entry), all);
  }

  #candidate(record: IndexedRecord, joined: ReadonlyMap<string, string>): Candidate {
    return {
      startUnixNano: record.startUnixNano,
      traceId: record.traceId,
      spanId: record.spanId,
      read: async () => {
        const entry = readEntry(record);
        const session = joined.get(record.sessionId ?? '');
        if (entry?.session && session !== undefined) entry.session = { ...entry.session, id: session };
        if (entry?.status === 'lost' && entry.key !== undefined && (await this.#objects?.has(entry.key))) {
          return { ...entry, status: 'stored' };
        }
        return entry;
      },
    };
  }

  async delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    const entries = await collectSelected(this, selection);
    const doomed = new Set<IndexedRecord>();
    const kept: StoredEntry[] = [];
    const keys: string[] = [];
    for (const entry of entries) {
      const record = this.#index.find(entry.trace.spanId);
      if (record && !isPurgeable(record)) {
        kept.push(entry);
        continue;
      }
      if (record) doomed.add(record);
      if (entry.key !== undefined) keys.push(entry.key);
    }
    const { freedBytes } = await purgeRecords(doomed, this.#index);
    const objects = await this.#objects?.delete(keys);
    return { deleted: entries.length - kept.length, kept, freedBytes: freedBytes + (objects?.freedBytes ?? 0) };
  }

  async problems(): Promise<StoreProblem[]> {
    await this.#index.look();
    return [...this.#index.problems(), ...((await this.#objects?.problems()) ?? [])];
  }

  /** What the recording processes say they dropped, summed over all of them. */
  async dropped(): Promise<DroppedCount[]> {
    await this.#index.look();
    const sums = new Map<string, DroppedCount>();
    for (const series of this.#index.series) {
      for (const { reason, count, message } of series.dropped.values()) {
        const sum = sums.get(reason) ?? { reason, count: 0 };
        sum.count += count;
        if (message !== undefined) sum.message = message;
        sums.set(reason, sum);
      }
    }
    return [...sums.values()];
  }

  /** Bytes on disk of all segments, and the number of files. */
  async sizes(): Promise<{ segmentBytes: number; segmentFiles: number; liveProcesses: number }> {
    await this.#index.look();
    const sizes = { segmentBytes: 0, segmentFiles: 0, liveProcesses: 0 };
    for (const series of this.#index.series) {
      for (const { file } of series.files) sizes.segmentBytes += file.sizeBytes;
      sizes.segmentFiles += series.files.length;
      if (series.live) sizes.liveProcesses += 1;
    }
    return sizes;
  }

  /** The threads that are being recorded now, and their open calls. */
  async live(): Promise<LiveThread[]> {
    await this.#index.look();
    return liveThreads(this.#index.series);
  }

  async close(): Promise<void> {
    await this.#objects?.close();
  }
}

function mayMatch(record: IndexedRecord, filter: ListFilter, joined: ReadonlyMap<string, string>): boolean {
  if (filter.sessionId !== undefined) {
    const session = record.sessionId && (joined.get(record.sessionId) ?? record.sessionId);
    if (session !== filter.sessionId) return false;
  }
  if (filter.spanId === undefined) return true;
  return record.spanId === filter.spanId || (record.attemptSpanIds?.includes(filter.spanId) ?? false);
}
