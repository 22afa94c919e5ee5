/**
 * Where objects are kept: a bucket of any S3-compatible store, or a directory laid out like one. The archiver writes
 * through it, the bucket store and `doctor` read through it. Names are relative to the base prefix.
 */

/** An object as a listing shows it. */
export interface BucketObject {
  name: string;
  sizeBytes: number;
  modifiedUnixMs: number;
}

/** How an object is written. */
export interface BucketWriteOptions {
  /**
   * Leave an object of this name alone and answer `exists` (`If-None-Match: *`; where a store does not have it, a look
   * before). False by default: the object is replaced.
   */
  onlyIfAbsent?: boolean;
  contentType?: string;
  signal?: AbortSignal;
}

/** Which objects a listing gives. */
export interface BucketListOptions {
  /** Only names after this one in byte order. */
  startAfter?: string;
  signal?: AbortSignal;
}

/**
 * A place that keeps objects by name. Every method rejects with `OrangeboxError`: `OBX_STORE_UNREACHABLE` (network, 5xx, time-out),
 * `OBX_STORE_DENIED` (401, 403, EACCES), `OBX_STORE_NOT_FOUND` (no such bucket or directory), `OBX_STORE_FULL` (507, ENOSPC),
 * `OBX_STORE_FAILED` (anything else).
 */
export interface ObjectBucket {
  readonly kind: 's3' | 'directory' | 'memory';
  /** For messages: `s3://bucket/prefix`, or a path. Never holds credentials. */
  readonly location: string;
  /** The bytes; undefined when there is no such object. `OBX_SNAPSHOT_TOO_LARGE` above `maxBytes`. */
  read(name: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** The first bytes, fewer where the object is shorter; undefined when there is none. Without it, readers take the whole. */
  readStart?(name: string, sizeBytes: number): Promise<Uint8Array | undefined>;
  /** Size and time of an object, undefined when there is none. */
  stat(name: string): Promise<BucketObject | undefined>;
  /** Stores whole or not at all. */
  write(name: string, bytes: Uint8Array, options?: BucketWriteOptions): Promise<'written' | 'exists'>;
  /** Objects whose name begins with `prefix`, in byte order of their names. */
  list(prefix: string, options?: BucketListOptions): AsyncIterable<BucketObject>;
  /** The next path segments below `prefix` (which ends in `/` or is empty), each with its slash: one request per 1,000. */
  prefixes(prefix: string): Promise<string[]>;
  /** Deletes the named objects; what is not there counts as deleted. */
  delete(names: readonly string[]): Promise<void>;
  /** Whether the place can be reached and written to or read, for readiness checks. Rejects as the others do. */
  check(): Promise<void>;
  close(): Promise<void>;
}
