/** What an event claims, checked against its bytes. Nothing of a request becomes a name in the store before this. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SNAPSHOT_KEY_PATTERN } from '@orangebox/schema';
import type { PayloadEvent } from '@orangebox/store';

/** Why a payload is not kept under its key; also a label in metrics. */
export type FaultReason =
  | 'key'
  | 'body'
  | 'encoding'
  | 'part'
  | 'part_sha256'
  | 'payload_sha256'
  | 'gzip'
  | 'too_large'
  | 'snapshot'
  | 'digest'
  | 'part_conflict'
  | 'assembly';

/** A payload that is not what it says to be. */
export class PayloadFault extends Error {
  readonly reason: FaultReason;

  constructor(reason: FaultReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** A part whose claims have the right form and whose bytes have the hash it states. */
export interface CheckedPart {
  key: string;
  bytes: Uint8Array;
  index: number;
  count: number;
  /** Hex SHA-256 of `bytes`. */
  partSha256: string;
  /** Hex SHA-256 of the whole gzip; of one part, verified. */
  payloadSha256: string;
  /** Claimed digest of the snapshot; its start stands in the key. */
  digest: string;
}

/** Most parts that a payload may have; readers have the same bound. */
export const PARTS_MAX = 1024;

const SHA256_PATTERN = /^[0-9a-f]{64}$/;

/**
 * Checks one event.
 *
 * @throws PayloadFault.
 */
export async function checkPart(event: PayloadEvent): Promise<CheckedPart> {
  const { key, body, digest, part } = event;
  if (body === undefined || body.length === 0) throw new PayloadFault('body', 'the event has no body, or no bytes');
  // As it is: a key that would have to be made right first is not one.
  if (key === undefined || !SNAPSHOT_KEY_PATTERN.test(key)) {
    throw new PayloadFault('key', 'the key is missing, ambiguous or has not the agreed form');
  }
  if (event.encoding !== 'gzip') throw new PayloadFault('encoding', 'the encoding is not gzip');
  if (digest === undefined || !SHA256_PATTERN.test(digest) || !key.endsWith(`/${digest.slice(0, 16)}`)) {
    throw new PayloadFault('digest', 'the digest is missing or is not that of the key');
  }
  if (part === undefined || !isPart(part)) throw new PayloadFault('part', 'index and count of the part make no sense');
  if (event.partSha256 === undefined || !SHA256_PATTERN.test(event.partSha256)) {
    throw new PayloadFault('part_sha256', 'the SHA-256 of the part is missing');
  }
  if ((await sha256Of(body)) !== event.partSha256) {
    throw new PayloadFault('part_sha256', 'the part does not have the SHA-256 it states');
  }
  const payloadSha256 = part.count === 1 ? (event.payloadSha256 ?? event.partSha256) : event.payloadSha256;
  if (payloadSha256 === undefined || !SHA256_PATTERN.test(payloadSha256)) {
    throw new PayloadFault('payload_sha256', 'the SHA-256 of the payload is missing');
  }
  if (part.count === 1 && payloadSha256 !== event.partSha256) {
    throw new PayloadFault('payload_sha256', 'the only part does not have the SHA-256 of the payload');
  }
  return { key, bytes: body, ...part, partSha256: event.partSha256, payloadSha256, digest };
}

function isPart({ index, count }: { index: number; count: number }): boolean {
  const whole = Number.isInteger(index) && Number.isInteger(count);
  return whole && count >= 1 && count <= PARTS_MAX && index >= 0 && index < count;
}

/** Bytes that are hashed in one turn of the event loop, about a quarter of a millisecond. */
const HASH_SLICE_BYTES = 256 * 1024;

/**
 * Hex SHA-256, others going on between slices of many bytes. Web Crypto would hash beside the event loop, but on a copy
 * that no account of memory knows; making it takes what the second processor gives.
 */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += HASH_SLICE_BYTES) {
    if (at > 0) await nextTurn();
    hash.update(bytes.subarray(at, at + HASH_SLICE_BYTES));
  }
  return hash.digest('hex');
}
