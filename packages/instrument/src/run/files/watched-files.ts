/** Records the files of the working directory: as they were at the start, and each change with who made it. */
import { join } from 'node:path';
import type { FileChange, FilesChangedRecord, FileState, RunFilesRecord } from '@orangebox/schema';
import { type ContentStore, MAX_KEPT_BYTES } from './content-store.ts';
import { keyedContentHash, MAX_HASHED_BYTES, readContent } from './file-content.ts';
import { holdsNamedSecret, isSecretName } from './secret-names.ts';
import { isSeenBefore, MAX_TREE_ENTRIES, type SeenEntry, type SeenTree, seeEntry, seeTree } from './tree.ts';

/** What is kept of the start, and as much again of changes. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** What is read at the start to be known by its hash. */
const MAX_TOTAL_HASHED_BYTES = 512 * 1024 * 1024;
/** Entries of one record. */
const BATCH = 1000;
/** Files that are named where they cannot be given again. */
const MAX_NAMED = 20;

/** What the watching works with. */
export interface FilesHost {
  record(record: RunFilesRecord | FilesChangedRecord): void;
  /** Something that no replay can give again. */
  notReplayable(what: string): void;
  /** Whether a content has a secret in it that the recorder knows. */
  holdsSecret(bytes: Uint8Array): boolean;
  store: ContentStore;
  /** Of the directory of recordings. */
  key: Uint8Array;
  /** Entries that are looked at. */
  maxEntries?: number;
}

/** A process that made changes. */
export interface FileChanger {
  seq: number;
  file: string;
}

/** An entry, as it was looked at and as it is on record. */
interface Known {
  seen: SeenEntry;
  state: FileState;
  /** Its content can be given to a replay. */
  isKept: boolean;
}

/** Watches a directory. `without`: absolute paths of directories in it that do not count. */
export class WatchedFiles {
  readonly #root: string;
  readonly #without: readonly string[];
  readonly #host: FilesHost;
  #known: Map<string, Known> = new Map();
  readonly #changed: Set<string> = new Set();
  #leftToHash: number = MAX_TOTAL_HASHED_BYTES;
  #leftToKeep: number = MAX_TOTAL_BYTES;
  #named = 0;
  /** What lay here or beyond at the start is not known. */
  #cutAt: string | undefined;
  #isCutTold = false;

  constructor(root: string, without: readonly string[], host: FilesHost) {
    this.#root = root;
    this.#without = without;
    this.#host = host;
  }

  /** Records what is there. */
  begin(): void {
    const tree = this.#see();
    this.#cutAt = tree.cutAt;
    for (const [path, seen] of tree.entries) this.#known.set(path, this.#know(path, seen, true));
    const files = [...this.#known.values()].map(({ state }) => state);
    for (let i = 0; i === 0 || i < files.length; i += BATCH) {
      this.#host.record({ type: 'runFiles', files: files.slice(i, i + BATCH) });
    }
    this.#leftToKeep = MAX_TOTAL_BYTES;
    this.#leftToHash = MAX_TOTAL_HASHED_BYTES;
  }

  /** Records what changed since the last look: by a child process that ended now, or else by the program. */
  look(child?: FileChanger): void {
    const { entries, isWhole } = this.#see();
    const changes: FileChange[] = [];
    for (const [path, { state }] of this.#known) {
      // Where there is more than is looked at, what is new pushes out what lies deeper: that is there still.
      const now = entries.get(path) ?? (isWhole ? undefined : seeEntry(join(this.#root, path)));
      if (now) entries.set(path, now);
      if (now && now.type === state.type) continue;
      this.#tellBefore(path);
      this.#known.delete(path);
      // What is another kind of thing now was taken away first.
      changes.unshift({ kind: 'deleted', file: { path, type: state.type, mode: state.mode } });
    }
    for (const [path, seen] of entries) {
      const before = this.#known.get(path);
      if (before?.seen.stamp === seen.stamp) continue;
      // It may have been there from the start, beyond what was looked at.
      if (!before && !this.#changed.has(path) && this.#cutAt !== undefined && !isSeenBefore(path, this.#cutAt))
        continue;
      const after = this.#know(path, seen, child !== undefined);
      this.#known.set(path, after);
      if (before && isSame(before.state, after.state)) {
        after.isKept ||= before.isKept;
        continue;
      }
      if (before) this.#tellBefore(path, before);
      if (child && !after.isKept) this.#tell(`content of ${path}, which ${child.file} changed`);
      this.#changed.add(path);
      changes.push({ kind: before ? 'changed' : 'created', file: after.state });
    }
    if (changes.length === 0) return;
    this.#host.record({ type: 'filesChanged', ...(child ? { child: child.seq } : {}), changes });
  }

  #see(): SeenTree {
    const max = this.#host.maxEntries ?? MAX_TREE_ENTRIES;
    const tree = seeTree(this.#root, this.#without, max);
    if (!tree.isWhole && !this.#isCutTold) {
      this.#isCutTold = true;
      this.#host.notReplayable(`files of the working directory beyond ${max}`);
    }
    return tree;
  }

  /** A replay begins with what was there before: of a file that the run had not changed yet that has to be kept. */
  #tellBefore(path: string, before: Known | undefined = this.#known.get(path)): void {
    if (this.#changed.has(path)) return;
    this.#changed.add(path);
    if (before && !before.isKept) this.#tell(`content of ${path} before the run changed it`);
  }

  #tell(what: string): void {
    this.#host.notReplayable(this.#named++ < MAX_NAMED ? what : 'content of more files');
  }

  #know(path: string, seen: SeenEntry, isToKeep: boolean): Known {
    const { type, mode, target, sizeBytes } = seen;
    const state: FileState = { path, type, mode };
    if (type === 'link')
      return { seen, state: { ...state, ...(target === undefined ? {} : { target }) }, isKept: true };
    if (type === 'directory') return { seen, state, isKept: true };
    state.sizeBytes = sizeBytes;
    if (sizeBytes > Math.min(MAX_HASHED_BYTES, this.#leftToHash)) return { seen, state, isKept: false };
    const content = readContent(join(this.#root, path));
    if (!content) return { seen, state, isKept: false };
    this.#leftToHash -= content.sizeBytes;
    state.sizeBytes = content.sizeBytes;
    const { sha256, bytes } = content;
    // Of what is too large to be searched, the name has to tell.
    if (isSecretName(path) || (bytes && (this.#host.holdsSecret(bytes) || holdsNamedSecret(path, bytes)))) {
      return { seen, state: { ...state, keyedHash: keyedContentHash(this.#host.key, sha256) }, isKept: false };
    }
    state.sha256 = sha256;
    return { seen, state, isKept: isToKeep && this.#keep(sha256, bytes) };
  }

  #keep(sha256: string, bytes: Uint8Array | undefined): boolean {
    if (!bytes || bytes.length > Math.min(MAX_KEPT_BYTES, this.#leftToKeep)) return false;
    try {
      this.#host.store.keep(sha256, bytes);
    } catch {
      // A disk that is full is told of where records are written.
      return false;
    }
    this.#leftToKeep -= bytes.length;
    return true;
  }
}

function isSame(a: FileState, b: FileState): boolean {
  if (a.type !== b.type || a.mode !== b.mode || a.target !== b.target || a.sizeBytes !== b.sizeBytes) return false;
  if (a.type !== 'file') return true;
  if (a.keyedHash !== undefined || b.keyedHash !== undefined) return a.keyedHash === b.keyedHash;
  // Two of which nothing is known but that they were touched may differ.
  return a.sha256 !== undefined && a.sha256 === b.sha256;
}
