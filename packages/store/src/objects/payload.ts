/** The gzip of a snapshot: made, and taken apart with limits. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { parseSnapshot } from '../snapshot-shape.ts';

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);

/** Largest snapshot document that is read: 512 MiB, below the longest string of the platform. */
export const SNAPSHOT_MAX_BYTES: number = 500 * 1024 * 1024;

/** The gzip of a snapshot's JSON, as it stands in the object store. The derived views are left out. */
export async function encodePayload(snapshot: Snapshot): Promise<Buffer> {
  return gzipAsync(payloadJson(snapshot));
}

/** Bytes of the JSON that {@link encodePayload} packs. */
export function payloadSizeBytes(snapshot: Snapshot): number {
  return Buffer.byteLength(payloadJson(snapshot));
}

function payloadJson(snapshot: Snapshot): string {
  const { call: _c, request: _r, response: _s, toolExecutions: _t, nextMessages: _n, ...stored } = snapshot;
  return JSON.stringify(stored);
}

/**
 * The snapshot in a payload: gzip, or bare JSON.
 *
 * @param maxBytes of the JSON; more is `OBX_SNAPSHOT_TOO_LARGE`, so that a small file cannot fill the memory.
 * @throws OrangeboxError `OBX_SNAPSHOT_*`.
 */
export async function decodePayload(
  payload: Uint8Array,
  name: string,
  maxBytes: number = SNAPSHOT_MAX_BYTES,
): Promise<Snapshot> {
  const json = payload[0] === 0x1f && payload[1] === 0x8b ? await unzip(payload, name, maxBytes) : payload;
  if (json.length > maxBytes) throw tooLarge(name, maxBytes);
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
  return parseSnapshot(text, name);
}

async function unzip(payload: Uint8Array, name: string, maxBytes: number): Promise<Uint8Array> {
  try {
    return await gunzipAsync(payload, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (
      cause instanceof RangeError ||
      (cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE')
    ) {
      throw tooLarge(name, maxBytes);
    }
    throw new OrangeboxError('OBX_SNAPSHOT_GZIP', `${name} is not a whole gzip`, {
      cause,
      hint: 'the upload was cut or the file was changed: fetch it again',
    });
  }
}

function tooLarge(name: string, maxBytes: number): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_TOO_LARGE', `${name} unpacks to more than ${maxBytes} bytes`, {
    hint: 'a snapshot of Orangebox is never that large: check where the file came from',
  });
}
