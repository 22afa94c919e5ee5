/** A snapshot's JSON as gzip, cut into parts, all beside the program's thread. */
import { webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { PAYLOAD_PART_MAX_BYTES } from '@orangebox/schema';
import { sha256Hex } from '../sha256.ts';
import type { PayloadPart } from './envelope.ts';

const gzip = promisify(gzipCallback);

/** A gzipped snapshot. */
export interface Payload {
  gzip: Uint8Array;
  /** Hex SHA-256 of `gzip`. */
  sha256: string;
  partCount: number;
}

/** Compresses a snapshot. Equal JSON gives equal bytes, so that a resend is recognised. */
export async function compressSnapshot(json: Uint8Array): Promise<Payload> {
  const bytes = await gzip(json);
  return {
    gzip: bytes,
    sha256: await sha256(bytes),
    partCount: Math.max(1, Math.ceil(bytes.length / PAYLOAD_PART_MAX_BYTES)),
  };
}

/** Part `index` of a payload. */
export async function partOf(payload: Payload, index: number): Promise<PayloadPart> {
  const start = index * PAYLOAD_PART_MAX_BYTES;
  const bytes = payload.gzip.subarray(start, start + PAYLOAD_PART_MAX_BYTES);
  return {
    bytes,
    index,
    count: payload.partCount,
    sha256: payload.partCount === 1 ? payload.sha256 : await sha256(bytes),
    payloadSha256: payload.sha256,
  };
}

/** Up to this size the way to the thread pool costs the program more than hashing. */
const HASH_AT_ONCE_MAX_BYTES = 128 * 1024;

/** Web Crypto hashes on the thread pool; `createHash` would hold the program for every megabyte. */
async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= HASH_AT_ONCE_MAX_BYTES) return sha256Hex(bytes);
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');
}
