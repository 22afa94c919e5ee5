/** Keeps index objects that were read: who follows a bucket asks for those of the last minutes again and again. */
import { INDEX_PREFIX } from '@orangebox/schema';
import type { BucketListOptions, BucketObject, BucketWriteOptions, ObjectBucket } from './bucket.ts';

/** Bytes that are kept, packed as they came. */
const KEPT_MAX_BYTES = 32 * 1024 * 1024;

/** Listed objects of which size and time are known. */
const LISTED_MAX = 20_000;

/**
 * The same bucket, whose index objects are read once for as long as listings show them with the same size and time. The
 * oldest reads give way where they take more than `maxBytes` (32 MiB by default).
 */
export function rememberIndex(bucket: ObjectBucket, maxBytes: number = KEPT_MAX_BYTES): ObjectBucket {
  return new RememberingBucket(bucket, maxBytes);
}

interface Kept {
  stamp: string;
  bytes: Uint8Array;
}

class RememberingBucket implements ObjectBucket {
  readonly kind: ObjectBucket['kind'];
  readonly location: string;
  readonly readStart?: (name: string, sizeBytes: number) => Promise<Uint8Array | undefined>;
  readonly #bucket: ObjectBucket;
  readonly #maxBytes: number;
  /** Size and time as last listed, by name. */
  readonly #listed: Map<string, string> = new Map();
  /** By name, and by name and length where only the start was read; the longest unused first. */
  readonly #kept: Map<string, Kept> = new Map();
  #keptBytes = 0;

  constructor(bucket: ObjectBucket, maxBytes: number) {
    this.#bucket = bucket;
    this.#maxBytes = maxBytes;
    this.kind = bucket.kind;
    this.location = bucket.location;
    if (bucket.readStart)
      this.readStart = async (name, size) =>
        this.#once(`${name} ${size}`, name, async () => bucket.readStart?.(name, size));
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const bytes = await this.#once(name, name, async () => this.#bucket.read(name, maxBytes));
    // Kept for somebody who takes more: then the bucket says what is wrong.
    return bytes !== undefined && bytes.length > maxBytes ? this.#bucket.read(name, maxBytes) : bytes;
  }

  async #once(id: string, name: string, read: () => Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> {
    const stamp = this.#listed.get(name);
    if (stamp === undefined) return read();
    const kept = this.#kept.get(id);
    this.#drop(id);
    const bytes = kept?.stamp === stamp ? kept.bytes : await read();
    if (bytes !== undefined) this.#keep(id, { stamp, bytes });
    return bytes;
  }

  #keep(id: string, kept: Kept): void {
    // Two may have read it at once.
    this.#drop(id);
    this.#kept.set(id, kept);
    this.#keptBytes += kept.bytes.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(id: string): void {
    this.#keptBytes -= this.#kept.get(id)?.bytes.length ?? 0;
    this.#kept.delete(id);
  }

  async *list(prefix: string, options?: BucketListOptions): AsyncGenerator<BucketObject, void, undefined> {
    for await (const object of this.#bucket.list(prefix, options)) {
      if (object.name.startsWith(INDEX_PREFIX)) this.#note(object);
      yield object;
    }
  }

  #note({ name, sizeBytes, modifiedUnixMs }: BucketObject): void {
    this.#listed.delete(name);
    this.#listed.set(name, `${sizeBytes} ${modifiedUnixMs}`);
    for (const oldest of this.#listed.keys()) {
      if (this.#listed.size <= LISTED_MAX) return;
      this.#listed.delete(oldest);
    }
  }

  stat(name: string): Promise<BucketObject | undefined> {
    return this.#bucket.stat(name);
  }

  write(name: string, bytes: Uint8Array, options?: BucketWriteOptions): Promise<'written' | 'exists'> {
    // What is written here may get the time of what was there.
    this.#listed.delete(name);
    return this.#bucket.write(name, bytes, options);
  }

  prefixes(prefix: string): Promise<string[]> {
    return this.#bucket.prefixes(prefix);
  }

  delete(names: readonly string[]): Promise<void> {
    for (const name of names) this.#listed.delete(name);
    return this.#bucket.delete(names);
  }

  check(): Promise<void> {
    return this.#bucket.check();
  }

  close(): Promise<void> {
    this.#listed.clear();
    this.#kept.clear();
    this.#keptBytes = 0;
    return this.#bucket.close();
  }
}
