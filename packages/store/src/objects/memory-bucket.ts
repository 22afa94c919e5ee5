/** A bucket in memory, for tests. */
import type { BucketListOptions, BucketObject, BucketWriteOptions, ObjectBucket } from './bucket.ts';
import { checkObjectName, checkObjectPrefix, objectTooLarge } from './object-name.ts';

/** Makes an empty bucket in memory. */
export function createMemoryBucket(location = 'memory'): ObjectBucket {
  return new MemoryBucket(location);
}

class MemoryBucket implements ObjectBucket {
  readonly kind = 'memory';
  readonly location: string;
  readonly #objects: Map<string, { bytes: Buffer; modifiedUnixMs: number }> = new Map();

  constructor(location: string) {
    this.location = location;
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const found = this.#objects.get(checkObjectName(name));
    if (!found) return undefined;
    if (found.bytes.length > maxBytes) throw objectTooLarge(name, found.bytes.length, maxBytes);
    return Buffer.from(found.bytes);
  }

  async readStart(name: string, sizeBytes: number): Promise<Uint8Array | undefined> {
    const found = this.#objects.get(checkObjectName(name));
    return found && Buffer.from(found.bytes.subarray(0, sizeBytes));
  }

  async stat(name: string): Promise<BucketObject | undefined> {
    const found = this.#objects.get(checkObjectName(name));
    return found && { name, sizeBytes: found.bytes.length, modifiedUnixMs: found.modifiedUnixMs };
  }

  async write(name: string, bytes: Uint8Array, options: BucketWriteOptions = {}): Promise<'written' | 'exists'> {
    if (this.#objects.has(checkObjectName(name)) && options.onlyIfAbsent === true) return 'exists';
    this.#objects.set(name, { bytes: Buffer.from(bytes), modifiedUnixMs: Date.now() });
    return 'written';
  }

  async *list(prefix: string, options: BucketListOptions = {}): AsyncGenerator<BucketObject, void, undefined> {
    checkObjectPrefix(prefix);
    // Names are ASCII, so the order of the platform is that of the bytes.
    for (const name of [...this.#objects.keys()].sort()) {
      if (!name.startsWith(prefix)) continue;
      if (options.startAfter !== undefined && name <= options.startAfter) continue;
      const found = await this.stat(name);
      if (found) yield found;
    }
  }

  async prefixes(prefix: string): Promise<string[]> {
    checkObjectPrefix(prefix);
    const found = new Set<string>();
    for (const name of this.#objects.keys()) {
      const end = name.startsWith(prefix) ? name.indexOf('/', prefix.length) : -1;
      if (end >= 0) found.add(name.slice(0, end + 1));
    }
    return [...found].sort();
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const name of names) this.#objects.delete(checkObjectName(name));
  }

  async check(): Promise<void> {}

  async close(): Promise<void> {
    this.#objects.clear();
  }
}
