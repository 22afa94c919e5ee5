/** Snapshots in a directory laid out as the object store is: `<base>/<key>/…`. */
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  formatSnapshotKey,
  OrangeboxError,
  type Snapshot,
  SNAPSHOT_OBJECT_NAME,
  SNAPSHOT_PREFIX,
  snapshotKey,
} from '@orangebox/schema';
import { entryOfSnapshot } from '../entry-of-snapshot.ts';
import { dayMayMatch } from '../filter.ts';
import { type Candidate, collectSelected, selectEntries } from '../listing.ts';
import {
  fileSize,
  fsCode,
  fsError,
  keyDirectory,
  listNames,
  makePrivateDirectory,
  normalKey,
  removeEmptyUpwards,
  replaceFile,
  TEMPORARY_PREFIX,
} from '../safe-fs.ts';
import { verifySnapshot } from '../snapshot-shape.ts';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '../store.ts';
import { type KeyObjects, readObjects } from './object-reader.ts';
import { encodePayload } from './payload.ts';

/** Opens a directory store; the directory is made at the first `put`. */
export function createDirectoryStore(directory: string): DirectoryStore {
  return new DirectoryStore(directory);
}

/** A key that a directory has, and what its path tells. */
interface FoundKey {
  key: string;
  date: string;
  traceId: string;
  spanId: string;
}

/** Store of snapshots in a directory tree. */
export class DirectoryStore implements SnapshotStore {
  readonly kind = 'directory';
  readonly location: string;
  readonly #problems: Map<string, StoreProblem> = new Map();
  /** What a key names never changes, so its facts are read once. */
  readonly #entries: Map<string, StoredEntry> = new Map();

  constructor(directory: string) {
    this.location = directory;
  }

  async get(key: string): Promise<Snapshot | undefined> {
    const normal = normalKey(key);
    return normal === undefined ? undefined : readObjects(normal, this.#objects(normal));
  }

  /** Whether anything stands under a key; it may still turn out damaged. */
  async has(key: string): Promise<boolean> {
    const normal = normalKey(key);
    return normal !== undefined && (await listNames(keyDirectory(this.location, normal))).length > 0;
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    const snapshot = entry.key === undefined ? undefined : await this.get(entry.key);
    if (snapshot) return snapshot;
    throw new OrangeboxError('OBX_SNAPSHOT_LOST', `${this.location} has nothing under ${entry.key ?? 'no key'}`, {
      hint: 'it was deleted since it was listed',
    });
  }

  async put(snapshot: Snapshot): Promise<string> {
    const verified = verifySnapshot(snapshot, 'the snapshot to keep');
    const key = snapshotKey(verified);
    const directory = keyDirectory(this.location, key);
    const path = join(directory, SNAPSHOT_OBJECT_NAME);
    if ((await fileSize(path)) !== undefined && (await this.#isValid(key))) return key;
    try {
      await makePrivateDirectory(directory);
    } catch (error) {
      throw fsError(error, directory, 'write');
    }
    const payload = await encodePayload(verified);
    await replaceFile(path, async (file) => {
      await file.writeFile(payload);
    });
    return key;
  }

  async #isValid(key: string): Promise<boolean> {
    try {
      return (await this.get(key)) !== undefined;
    } catch {
      return false;
    }
  }

  async *list(filter: ListFilter = {}): AsyncGenerator<StoredEntry, void, undefined> {
    yield* selectEntries(await this.candidates(filter), filter, (entry) => this.load(entry));
  }

  /** Entries to be, found by path alone; `filter` leaves out whole days and traces. */
  async candidates(filter: ListFilter = {}): Promise<Candidate[]> {
    const candidates: Candidate[] = [];
    for await (const found of this.#keys(filter)) {
      candidates.push({
        // The day is all that a path tells; the order within it comes from the document.
        startUnixNano: (await this.#entry(found.key))?.time.startUnixNano ?? dayStart(found.date),
        traceId: found.traceId,
        spanId: found.spanId,
        read: () => this.#entry(found.key),
      });
    }
    return candidates;
  }

  async #entry(key: string): Promise<StoredEntry | undefined> {
    const location = keyDirectory(this.location, key);
    const known = this.#entries.get(key);
    if (known && (await listNames(location)).length > 0) return known;
    try {
      const snapshot = await this.get(key);
      this.#problems.delete(key);
      const entry = snapshot && entryOfSnapshot(snapshot, location);
      if (entry) this.#entries.set(key, entry);
      return entry;
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      this.#problems.set(key, {
        code: error.code as `OBX_${string}`,
        message: error.message,
        location,
        ...(error.hint === undefined ? {} : { hint: error.hint }),
      });
      return undefined;
    }
  }

  async *#keys(filter: ListFilter): AsyncGenerator<FoundKey, void, undefined> {
    const wanted = filter.keys && new Set(filter.keys.flatMap((key) => normalKey(key) ?? []));
    const base = join(this.location, SNAPSHOT_PREFIX);
    for (const date of await listNames(base)) {
      if (!/^\d{8}$/.test(date) || !dayMayMatch(date, filter)) continue;
      for (const traceId of await listNames(join(base, date))) {
        if (filter.traceId !== undefined && filter.traceId !== traceId) continue;
        for (const spanId of await listNames(join(base, date, traceId))) {
          for (const digest of await listNames(join(base, date, traceId, spanId))) {
            const key = normalKey(formatSnapshotKey({ date, traceId, spanId, digest16: digest }));
            if (key !== undefined && (!wanted || wanted.has(key))) yield { key, date, traceId, spanId };
          }
        }
      }
    }
  }

  async delete(selection: string[] | ListFilter): Promise<DeleteResult> {
    const result: DeleteResult = { deleted: 0, kept: [], freedBytes: 0 };
    const keys = new Set((await collectSelected(this, selection)).flatMap((entry) => entry.key ?? []));
    // A named key is deleted even when what stands there cannot be read.
    if (Array.isArray(selection)) for (const key of selection) keys.add(normalKey(key) ?? '');
    for (const key of keys) {
      if (key === '') continue;
      const directory = keyDirectory(this.location, key);
      const names = await listNames(directory);
      if (names.length === 0) continue;
      for (const name of names) result.freedBytes += (await fileSize(join(directory, name))) ?? 0;
      try {
        await rm(directory, { recursive: true, force: true });
      } catch (error) {
        throw fsError(error, directory, 'write');
      }
      await removeEmptyUpwards(join(directory, '..'), this.location);
      this.#entries.delete(key);
      result.deleted += 1;
    }
    return result;
  }

  async problems(): Promise<StoreProblem[]> {
    return [...this.#problems.values()];
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }

  #objects(key: string): KeyObjects {
    const directory = keyDirectory(this.location, key);
    return {
      nameOf: (object) => join(directory, object),
      list: async () => (await listNames(directory)).filter((name) => !name.startsWith(TEMPORARY_PREFIX)),
      read: (object, maxBytes) => readBounded(join(directory, object), maxBytes),
    };
  }
}

/** A file's bytes; undefined when it is not there or is no plain file. */
async function readBounded(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    const facts = await stat(path);
    if (!facts.isFile()) return undefined;
    if (facts.size > maxBytes) {
      throw new OrangeboxError('OBX_SNAPSHOT_TOO_LARGE', `${path} has ${facts.size} bytes, more than ${maxBytes}`, {
        hint: 'a snapshot of Orangebox is never that large: check where the file came from',
      });
    }
    return await readFile(path);
  } catch (error) {
    if (fsCode(error) === 'ENOENT' || fsCode(error) === 'ENOTDIR') return undefined;
    throw fsError(error, path, 'read');
  }
}

function dayStart(date: string): string {
  const ms = Date.UTC(+date.slice(0, 4), +date.slice(4, 6) - 1, +date.slice(6, 8));
  return `${Number.isFinite(ms) ? ms : 0}000000`;
}
