/** A snapshot's JSON as gzip, cut into parts, all beside the program's thread. */
import { webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { PAYLOAD_PART_MAX_BYTES } from '@orangebox/schema';
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

/** Web Crypto hashes on the thread pool; `createHash` would hold the program for every megabyte. */
async function sha256(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');
}
