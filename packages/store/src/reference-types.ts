/** What a reference that a person typed stands for. */
import type { SnapshotStore, StoredEntry } from './store.ts';

/** A reference, resolved. */
export interface ResolvedReference {
  /** How the text was understood. */
  kind: 'ref' | 'key' | 'span' | 'trace' | 'session' | 'file' | 'last';
  /** The entries it names, oldest first; never empty. */
  entries: StoredEntry[];
  /** The store that has them: the given one, or one opened for the file, bucket or trace backend. */
  store: SnapshotStore;
}

/** Where references are looked up. */
export interface ReferenceOptions {
  store: SnapshotStore;
  /** Directory that relative file names start from; the working directory by default. */
  cwd?: string;
  /** Short refs, span ids, sessions and `last` are looked for from this Unix time in milliseconds on. */
  sinceUnixMs?: number;
  /** Opens the store at `s3://bucket/prefix`, for URIs of objects in it. */
  openBucketUrl?: (url: string) => Promise<SnapshotStore>;
  /** Opens the trace backend whose page was pasted, where the given store does not know the trace; undefined when it must not be asked. */
  openSourceUrl?: (baseUrl: string) => Promise<SnapshotStore | undefined>;
}
