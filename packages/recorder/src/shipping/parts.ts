/** A snapshot's JSON as gzip, cut into parts; large ones beside the program's thread. */
import { webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip as gzipCallback, gzipSync } from 'node:zlib';
import { PAYLOAD_PART_MAX_BYTES } from '@orangebox/schema';
import { sha256Hex } from '../sha256.ts';
import type { PayloadPart } from './envelope.ts';

const gzip = promisify(gzipCallback);

/** Level 3 takes 60 % of the time of zlib's default for 5 % more bytes. */
const LEVEL = 3;

/**
 * JSON up to this size is compressed at once, in a third of a millisecond at most: the way to the thread pool and back costs the
 * program more than that.
 */
export const COMPRESSED_AT_ONCE_MAX_BYTES: number = 32 * 1024;

/** A gzipped snapshot. */
export interface Payload {
  gzip: Uint8Array;
  /** Hex SHA-256 of `gzip`. */
  sha256: string;
  partCount: number;
}

/** Compresses a snapshot. Equal JSON gives equal bytes, so that a resend is recognised. */
export async function compressSnapshot(json: Uint8Array): Promise<Payload> {
  if (json.length <= COMPRESSED_AT_ONCE_MAX_BYTES) return compressSnapshotNow(json);
  const bytes = await gzip(json, { level: LEVEL });
  return payloadOf(bytes, await sha256(bytes));
}

/** The same payload at once. */
export function compressSnapshotNow(json: Uint8Array): Payload {
  // A result keeps the whole chunk that it was written to, so that it should not be much larger.
  const chunkSize = Math.min(16 * 1024, Math.max(1024, json.length >> 1));
  const bytes = gzipSync(json, { level: LEVEL, chunkSize });
  return payloadOf(bytes, sha256Hex(bytes));
}

function payloadOf(bytes: Uint8Array, hash: string): Payload {
  return { gzip: bytes, sha256: hash, partCount: Math.max(1, Math.ceil(bytes.length / PAYLOAD_PART_MAX_BYTES)) };
}

/** Part `index` of a payload. */
export async function partOf(payload: Payload, index: number): Promise<PayloadPart> {
  if (payload.partCount === 1) return onlyPartOf(payload);
  const start = index * PAYLOAD_PART_MAX_BYTES;
  const bytes = payload.gzip.subarray(start, start + PAYLOAD_PART_MAX_BYTES);
  return {
    bytes,
    index,
    count: payload.partCount,
    sha256: await sha256(bytes),
    payloadSha256: payload.sha256,
  };
}

/** The one part of a payload that has no more. */
export function onlyPartOf({ gzip: bytes, sha256: hash }: Payload): PayloadPart {
  return { bytes, index: 0, count: 1, sha256: hash, payloadSha256: hash };
}

/** Up to this size the way to the thread pool costs the program more than hashing. */
const HASH_AT_ONCE_MAX_BYTES = 128 * 1024;

/** Web Crypto hashes on the thread pool; `createHash` would hold the program for every megabyte. */
async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= HASH_AT_ONCE_MAX_BYTES) return sha256Hex(bytes);
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');
}
