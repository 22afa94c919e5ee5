/** What a reference that a person typed stands for. */
import type { SnapshotStore, StoredEntry } from './store.ts';

/** A reference, resolved. */
export interface ResolvedReference {
  /** How the text was understood. */
  kind: 'ref' | 'key' | 'span' | 'trace' | 'session' | 'file' | 'last';
  /** The entries it names, oldest first; never empty. */
  entries: StoredEntry[];
  /** The store that has them: the given one, or one opened for the file. */
  store: SnapshotStore;
}

/** Where references are looked up. */
export interface ReferenceOptions {
  store: SnapshotStore;
  /** Directory that relative file names start from; the working directory by default. */
  cwd?: string;
}
