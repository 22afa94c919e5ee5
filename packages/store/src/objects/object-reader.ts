/**
 * Finds the snapshot of a key among the objects that any of the writers left under it. The first complete set whose
 * digest is right counts.
 */
import {
  OrangeboxError,
  PART_OBJECT_PATTERN,
  ENVELOPE_EXTENSION,
  type Snapshot,
  SNAPSHOT_OBJECT_NAME,
  snapshotKey,
} from '@orangebox/schema';
import { sha256 } from '../hash.ts';
import { type EnvelopePart, readEnvelopes } from './envelope.ts';
import { decodePayload, SNAPSHOT_MAX_BYTES } from './payload.ts';

/** The objects under one key, wherever they are. */
export interface KeyObjects {
  /** What an object is called in messages. */
  nameOf(object: string): string;
  list(): Promise<string[]>;
  /** The bytes; undefined when there is no such object. `OBX_SNAPSHOT_TOO_LARGE` above `maxBytes`. */
  read(object: string, maxBytes: number): Promise<Uint8Array | undefined>;
}

/** Most parts that a payload may have. */
const PARTS_MAX = 1024;

/**
 * The snapshot of a key; undefined when nothing is stored under it.
 *
 * @throws OrangeboxError the reason of the last candidate when none is right: `OBX_SNAPSHOT_DIGEST`,
 * `OBX_SNAPSHOT_VERSION`, `OBX_SNAPSHOT_INCOMPLETE` and others.
 */
export async function readObjects(key: string, objects: KeyObjects): Promise<Snapshot | undefined> {
  let fault: unknown;
  const attempt = async (read: () => Promise<Snapshot | undefined>): Promise<Snapshot | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      // A store that cannot be read stops the search; a bad object does not.
      if (error.code.startsWith('OBX_STORE_')) throw error;
      fault ??= error;
      return undefined;
    }
  };
  const whole = await attempt(() => readWhole(key, objects));
  if (whole) return whole;
  const names = await objects.list();
  const parts = await attempt(() => readParts(key, objects, names));
  if (parts) return parts;
  const envelopes = await attempt(() => readEnvelopeObjects(key, objects, names));
  if (envelopes) return envelopes;
  if (fault) throw fault;
  return undefined;
}

async function readWhole(key: string, objects: KeyObjects): Promise<Snapshot | undefined> {
  const bytes = await objects.read(SNAPSHOT_OBJECT_NAME, SNAPSHOT_MAX_BYTES);
  return bytes && checked(await decodePayload(bytes, objects.nameOf(SNAPSHOT_OBJECT_NAME)), key);
}

/** Sets of `part-<h>-…`: only equal `<h>` and equal counts join. */
async function readParts(key: string, objects: KeyObjects, names: string[]): Promise<Snapshot | undefined> {
  const sets = new Map<string, Map<number, string>>();
  for (const name of names) {
    const match = PART_OBJECT_PATTERN.exec(name);
    if (!match) continue;
    const set = `${match[1]}/${Number(match[3])}`;
    if (!sets.has(set)) sets.set(set, new Map());
    sets.get(set)?.set(Number(match[2]), name);
  }
  let fault: OrangeboxError | undefined;
  for (const [set, members] of sets) {
    const [h = '', countText = '0'] = set.split('/');
    const count = Number(countText);
    if (members.size !== count || count > PARTS_MAX) {
      fault ??= incomplete(key, members.size, count);
      continue;
    }
    try {
      const joined = await joinParts(key, members, count, objects);
      if (!sha256(joined).startsWith(h)) throw changed(key);
      return checked(await decodePayload(joined, objects.nameOf(`part-${h}-…`)), key);
    } catch (error) {
      // Parts are stored before anybody can tell what they join to: another set may be the right one.
      if (!(error instanceof OrangeboxError) || error.code.startsWith('OBX_STORE_')) throw error;
      fault ??= error;
    }
  }
  if (fault) throw fault;
  return undefined;
}

async function joinParts(
  key: string,
  members: ReadonlyMap<number, string>,
  count: number,
  objects: KeyObjects,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let i = 0; i < count; i += 1) {
    const name = members.get(i);
    const bytes = name === undefined ? undefined : await objects.read(name, SNAPSHOT_MAX_BYTES - size);
    if (!bytes) throw incomplete(key, pieces.length, count);
    pieces.push(bytes);
    size += bytes.length;
  }
  return Buffer.concat(pieces);
}

async function readEnvelopeObjects(key: string, objects: KeyObjects, names: string[]): Promise<Snapshot | undefined> {
  const parts: EnvelopePart[] = [];
  for (const name of names) {
    if (!name.endsWith(ENVELOPE_EXTENSION)) continue;
    const bytes = await objects.read(name, SNAPSHOT_MAX_BYTES);
    if (!bytes) continue;
    for (const part of readEnvelopes(bytes)) {
      // An object may hold other keys' payloads too when the collector batched them.
      if (part.key.replace(/\/{2,}/g, '/') === key) parts.push(part);
    }
  }
  return joinEnvelopeParts(key, parts, objects);
}

async function joinEnvelopeParts(
  key: string,
  parts: EnvelopePart[],
  objects: KeyObjects,
): Promise<Snapshot | undefined> {
  const sets = new Map<string, Map<number, Uint8Array>>();
  for (const part of parts) {
    if (part.partSha256 !== undefined && sha256(part.bytes) !== part.partSha256) continue;
    // The only part is the payload.
    if (part.count === 1 && part.payloadSha256 && sha256(part.bytes) !== part.payloadSha256) continue;
    const set = `${part.payloadSha256}/${part.count}`;
    if (!sets.has(set)) sets.set(set, new Map());
    sets.get(set)?.set(part.index, part.bytes);
  }
  let fault: unknown = parts.length > 0 && sets.size === 0 ? changed(key) : undefined;
  for (const [set, members] of sets) {
    const [payload = '', countText = '0'] = set.split('/');
    const count = Number(countText);
    const pieces = Array.from({ length: Math.min(count, PARTS_MAX) }, (_, i) => members.get(i));
    if (count > PARTS_MAX || pieces.includes(undefined)) {
      fault ??= incomplete(key, members.size, count);
      continue;
    }
    const joined = Buffer.concat(pieces as Uint8Array[]);
    try {
      if (payload !== '' && sha256(joined) !== payload) throw changed(key);
      return checked(await decodePayload(joined, objects.nameOf('the envelopes')), key);
    } catch (error) {
      fault ??= error;
    }
  }
  if (fault) throw fault;
  return undefined;
}

/** A right document under the wrong key is not what was asked for. */
function checked(snapshot: Snapshot, key: string): Snapshot {
  if (snapshotKey(snapshot) === key) return snapshot;
  throw new OrangeboxError('OBX_SNAPSHOT_DIGEST', `the snapshot under ${key} belongs to ${snapshotKey(snapshot)}`, {
    hint: 'the object was copied to the wrong place or changed',
  });
}

function incomplete(key: string, have: number, want: number): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_INCOMPLETE', `${have} of ${want} parts of ${key} are there`, {
    hint: 'parts may still be on their way: try again, or look for what was not shipped with orangebox doctor',
  });
}

function changed(key: string): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_DIGEST', `the parts of ${key} do not have the hash they are named by`, {
    hint: 'they are damaged or were changed',
  });
}
