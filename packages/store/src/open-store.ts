/** Opening whatever a path is: an `ORANGEBOX_DIR`, a tree of snapshots, one segment, one snapshot. */
import { open, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  DEFAULT_DIRECTORY,
  ENVELOPE_EXTENSION,
  OBJECTS_DIRECTORY,
  OrangeboxError,
  SEGMENT_EXTENSION,
  SEGMENT_MAGIC,
  SEGMENTS_DIRECTORY,
} from '@orangebox/schema';
import { createMemoryStore } from './memory-store.ts';
import { createDirectoryStore } from './objects/directory-store.ts';
import { readEnvelopes } from './objects/envelope.ts';
import { readObjects } from './objects/object-reader.ts';
import { decodePayload, SNAPSHOT_MAX_BYTES } from './objects/payload.ts';
import { fsError, listNames } from './safe-fs.ts';
import { createSegmentFileStore, createSegmentStore } from './segments/segment-store.ts';
import type { SnapshotStore } from './store.ts';

/**
 * Opens the store at a path.
 *
 * @throws OrangeboxError `OBX_STORE_NOT_FOUND`, `OBX_STORE_UNREADABLE`, and for files `OBX_SNAPSHOT_*`,
 * `OBX_SEGMENT_*`.
 */
export async function openStore(path: string): Promise<SnapshotStore> {
  const facts = await stat(path).catch((error: unknown) => {
    throw fsError(error, path, 'read');
  });
  if (!facts.isDirectory()) return openFile(path, facts.size);
  const names = await listNames(path);
  if (names.includes(SEGMENTS_DIRECTORY) || names.includes(OBJECTS_DIRECTORY)) {
    // A directory that cannot be read is said at once, not at the first listing.
    await listNames(join(path, SEGMENTS_DIRECTORY));
    return createSegmentStore(path);
  }
  if (names.includes('v1')) return createDirectoryStore(path);
  if (basename(path) === SEGMENTS_DIRECTORY) return createSegmentStore(dirname(path));
  return createSegmentStore(path);
}

async function openFile(path: string, size: number): Promise<SnapshotStore> {
  if (path.endsWith(SEGMENT_EXTENSION) || (await startsWithMagic(path))) return createSegmentFileStore(path);
  if (size > SNAPSHOT_MAX_BYTES) {
    throw new OrangeboxError('OBX_SNAPSHOT_TOO_LARGE', `${path} has ${size} bytes`, {
      hint: 'a snapshot of Orangebox is never that large: check where the file came from',
    });
  }
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fsError(error, path, 'read');
  });
  const store = createMemoryStore(path);
  if (path.endsWith(ENVELOPE_EXTENSION)) {
    const object = basename(path);
    const keys = new Set(readEnvelopes(bytes).map((part) => part.key.replace(/\/{2,}/g, '/')));
    for (const key of keys) {
      const snapshot = await readObjects(key, {
        nameOf: () => path,
        list: async () => [object],
        read: async (name) => (name === object ? bytes : undefined),
      });
      if (snapshot) await store.put(snapshot);
    }
    return store;
  }
  await store.put(await decodePayload(bytes, path));
  return store;
}

async function startsWithMagic(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SEGMENT_MAGIC.length), 0, SEGMENT_MAGIC.length, 0);
      return buffer.toString('latin1', 0, bytesRead) === SEGMENT_MAGIC;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw fsError(error, path, 'read');
  }
}

/** The nearest `.orangebox` directory at or above a directory; undefined when there is none. */
export async function findStoreDirectory(from: string): Promise<string | undefined> {
  for (let current = from; ; current = dirname(current)) {
    const candidate = join(current, DEFAULT_DIRECTORY);
    const facts = await stat(candidate).catch(() => undefined);
    if (facts?.isDirectory()) return candidate;
    if (dirname(current) === current) return undefined;
  }
}
