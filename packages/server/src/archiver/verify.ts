/**
 * A whole gzip to its snapshot, verified, within the room that there is. The length that a gzip states at its end is
 * booked before it is unpacked; one that unpacks to more is damaged.
 */
import { promisify } from 'node:util';
import { createGunzip, gunzip, gunzipSync } from 'node:zlib';
import { type IndexRow, OrangeboxError, type Snapshot, snapshotKey } from '@orangebox/schema';
import { indexRowOf, parseSnapshot, SNAPSHOT_MAX_BYTES } from '@orangebox/store';
import { hasMoreValues } from './json-size.ts';
import type { Room } from './memory.ts';
import { PayloadFault } from './payload.ts';

const gunzipAsync = promisify(gunzip);

/** Bytes that a document takes beside itself while it is parsed and hashed, in times of its length. */
const WORK_FACTOR = 3;
/** Bytes of memory that a JSON value takes at most. */
const VALUE_BYTES = 64;
/** How every writer of snapshots begins. */
const SNAPSHOT_START = Buffer.from('{"schema":"orangebox.snapshot/');
/** Deflate packs 258 bytes into two bits at best. */
const DEFLATE_MAX_RATIO = 1032;
/** Up to this size unpacking costs less than the way to the thread pool. */
const UNPACK_AT_ONCE_MAX_BYTES = 256 * 1024;

/** How payloads are checked. */
export interface Checks {
  /** Room in bytes for unpacking and parsing. */
  room: Room;
  /** Whether the index wants a row of each. */
  makesRows: boolean;
}

/** What is left of a snapshot once it is verified: a row is small, whatever the snapshot was. */
export interface Verified {
  row: IndexRow | undefined;
}

/**
 * Unpacks, parses and verifies. Undefined when that would take more memory than there is room for: the gzip is whole, what
 * is in it has to be judged by its readers.
 *
 * @throws PayloadFault.
 */
export async function verifyPayload(
  payload: Uint8Array,
  expected: { key: string; digest?: string },
  { room, makesRows }: Checks,
): Promise<Verified | undefined> {
  const sizeBytes = statedSize(payload);
  if (sizeBytes > SNAPSHOT_MAX_BYTES) {
    throw new PayloadFault('too_large', `it unpacks to more than ${SNAPSHOT_MAX_BYTES} bytes`);
  }
  const weight = sizeBytes * WORK_FACTOR;
  if (weight > room.capacity) {
    await passThrough(payload, sizeBytes);
    return undefined;
  }
  return room.run(weight, async () => {
    const json = await unpack(payload, sizeBytes);
    // Small documents cannot grow beyond what one request may take anyway.
    if (sizeBytes > 1024 * 1024 && hasMoreValues(json, Math.floor(room.capacity / VALUE_BYTES))) return undefined;
    const snapshot = parse(json, expected);
    return { row: makesRows ? rowOf(snapshot, json.length) : undefined };
  });
}

/** A row is a view; one that cannot be made is missing from lists, no more. */
function rowOf(snapshot: Snapshot, sizeBytes: number): IndexRow | undefined {
  try {
    return indexRowOf(snapshot, sizeBytes);
  } catch {
    return undefined;
  }
}

function parse(json: Buffer, expected: { key: string; digest?: string }): Snapshot {
  let snapshot: Snapshot;
  try {
    snapshot = parseSnapshot(json.toString('utf8'), 'the payload');
  } catch (cause) {
    const isDigest = cause instanceof OrangeboxError && cause.code === 'OBX_SNAPSHOT_DIGEST';
    const code = cause instanceof OrangeboxError ? cause.code : 'OBX_SNAPSHOT_SHAPE';
    throw new PayloadFault(isDigest ? 'digest' : 'snapshot', `the payload is no right snapshot (${code})`, { cause });
  }
  if (expected.digest !== undefined && snapshot.digest !== expected.digest) {
    throw new PayloadFault('digest', 'the snapshot has another digest than the event states');
  }
  if (snapshotKey(snapshot) !== expected.key) {
    throw new PayloadFault('digest', `the snapshot belongs to ${snapshotKey(snapshot)}`);
  }
  return snapshot;
}

/** The length that stands at the end of a gzip. */
function statedSize(payload: Uint8Array): number {
  if (payload.length < 20 || payload[0] !== 0x1f || payload[1] !== 0x8b) throw damaged('it is no gzip');
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const sizeBytes = view.getUint32(payload.length - 4, true);
  if (sizeBytes > payload.length * DEFLATE_MAX_RATIO)
    throw damaged('no gzip of its length unpacks to the length it states');
  return sizeBytes;
}

async function unpack(payload: Uint8Array, sizeBytes: number): Promise<Buffer> {
  // One buffer for all of it, with a little room to see that there is no more.
  const options = { maxOutputLength: sizeBytes + 1, chunkSize: Math.max(1024, sizeBytes + 64) };
  let json: Buffer;
  try {
    json = sizeBytes <= UNPACK_AT_ONCE_MAX_BYTES ? gunzipSync(payload, options) : await gunzipAsync(payload, options);
  } catch (cause) {
    throw damaged('it is no whole gzip', cause);
  }
  if (json.length !== sizeBytes) throw damaged('it does not unpack to the length it states');
  return json;
}

/** Unpacks without keeping anything, to see that the gzip is whole and what it begins with. */
async function passThrough(payload: Uint8Array, sizeBytes: number): Promise<void> {
  const stream = createGunzip({ chunkSize: 64 * 1024 });
  stream.end(payload);
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (size === 0 && !chunk.subarray(0, SNAPSHOT_START.length).equals(SNAPSHOT_START)) {
        throw new PayloadFault('snapshot', 'it does not begin as a snapshot does');
      }
      size += chunk.length;
      if (size > sizeBytes) break;
    }
  } catch (cause) {
    throw cause instanceof PayloadFault ? cause : damaged('it is no whole gzip', cause);
  } finally {
    stream.destroy();
  }
  if (size !== sizeBytes) throw damaged('it does not unpack to the length it states');
}

function damaged(message: string, cause?: unknown): PayloadFault {
  return new PayloadFault('gzip', message, { cause });
}
