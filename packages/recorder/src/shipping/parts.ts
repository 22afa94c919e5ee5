/** A snapshot's JSON as gzip, cut into parts; large ones beside the program's thread. */
import { webcrypto } from 'node:crypto';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip as gzipCallback, gzipSync } from 'node:zlib';
import { PAYLOAD_PART_MAX_BYTES } from '@orangebox/schema';
import { runningSha256, sha256Hex } from '../sha256.ts';
import type { PayloadPart } from './envelope.ts';

const gzip = promisify(gzipCallback);

/** Level 3 takes 60 % of the time of zlib's default for 5 % more bytes. */
const LEVEL = 3;

const EMPTY_BYTES = new Uint8Array(0);

/**
 * JSON up to this size is compressed at once, in a third of a millisecond at most: the way to the thread pool and back costs the
 * program more than that.
 */
export const COMPRESSED_AT_ONCE_MAX_BYTES: number = 32 * 1024;

/** A window of 8 KiB, which is made ready in half the time of the usual one; up to twice that much JSON loses little by it. */
const SMALL_WINDOW_BITS = 13;
const SMALL_WINDOW_MAX_JSON_BYTES = 16 * 1024;

/** A gzipped snapshot. */
export interface Payload {
  gzip: Uint8Array;
  /** Hex SHA-256 of `gzip`. */
  sha256: string;
  partCount: number;
  /** The gzip is too large to be held: `gzip` is empty, and this makes it again bit by bit. */
  again?: () => AsyncIterable<Uint8Array>;
}

/** What is to be known of a payload before its first part can be sent. */
export type PayloadFacts = Pick<Payload, 'sha256' | 'partCount'>;

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
  const windowBits = json.length <= SMALL_WINDOW_MAX_JSON_BYTES ? SMALL_WINDOW_BITS : undefined;
  const bytes = gzipSync(json, { level: LEVEL, chunkSize, ...(windowBits && { windowBits }) });
  return payloadOf(bytes, sha256Hex(bytes));
}

function payloadOf(bytes: Uint8Array, hash: string): Payload {
  return { gzip: bytes, sha256: hash, partCount: Math.max(1, Math.ceil(bytes.length / PAYLOAD_PART_MAX_BYTES)) };
}

/**
 * Compresses a snapshot that is never held whole: only a gzip of one part is kept, a larger one is made again for its parts.
 * @param known from an earlier try, so that it need not be made once more to learn it
 * @param signal ends it, here or while parts are made: what is under way rejects with its reason
 */
export async function compressInPieces(
  pieces: () => Iterable<Uint8Array>,
  known?: PayloadFacts,
  signal?: AbortSignal,
): Promise<Payload> {
  const again = (): AsyncIterable<Uint8Array> => gzipPieces(pieces(), signal);
  if (known && known.partCount > 1) return { ...known, gzip: EMPTY_BYTES, again };
  const running = runningSha256();
  let kept: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const bytes of again()) {
    running.update(bytes);
    sizeBytes += bytes.length;
    if (sizeBytes <= PAYLOAD_PART_MAX_BYTES) kept.push(bytes);
    else kept = [];
  }
  if (sizeBytes <= PAYLOAD_PART_MAX_BYTES) return payloadOf(Buffer.concat(kept), running.hex());
  const partCount = Math.ceil(sizeBytes / PAYLOAD_PART_MAX_BYTES);
  return { gzip: EMPTY_BYTES, sha256: running.hex(), partCount, again };
}

/** Equal JSON in pieces of any size gives equal bytes: zlib gets blocks of one size. It works beside the program. */
async function* gzipPieces(
  pieces: Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const gzipStream = createGzip({ level: LEVEL, chunkSize: BLOCK_BYTES });
  const source = Readable.from(blocksOf(pieces), { objectMode: false, highWaterMark: BLOCK_BYTES });
  source.once('error', (error) => gzipStream.destroy(error));
  try {
    for await (const bytes of source.pipe(gzipStream)) {
      signal?.throwIfAborted();
      yield bytes as Uint8Array;
    }
  } finally {
    source.destroy();
  }
}

/** JSON bytes that are made at a time, then compressed beside the program. */
const BLOCK_BYTES = 64 * 1024;

function* blocksOf(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let filled = 0;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + BLOCK_BYTES - filled);
      block.set(part, filled);
      filled += part.length;
      from += part.length;
      if (filled < BLOCK_BYTES) continue;
      yield block;
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}

/** The parts of a payload in order; those that are not wanted are passed over. */
export async function* partsOf(
  payload: Payload,
  isWanted: (index: number) => boolean,
): AsyncGenerator<PayloadPart, void, undefined> {
  const { again, partCount: count, sha256: payloadSha256 } = payload;
  if (!again) {
    for (let index = 0; index < count; index++) if (isWanted(index)) yield await partOf(payload, index);
    return;
  }
  let index = 0;
  let filled = 0;
  const part = Buffer.allocUnsafeSlow(PAYLOAD_PART_MAX_BYTES);
  const made = async (bytes: Uint8Array): Promise<PayloadPart> => {
    return { bytes, index, count, sha256: await sha256(bytes), payloadSha256 };
  };
  for await (const bytes of again()) {
    for (let from = 0; from < bytes.length; ) {
      // Only a full one is sent before the next byte is there: the last part is not empty.
      if (filled === part.length) {
        if (isWanted(index)) yield await made(part);
        index++;
        filled = 0;
      }
      const more = bytes.subarray(from, from + part.length - filled);
      part.set(more, filled);
      filled += more.length;
      from += more.length;
    }
  }
  if (isWanted(index)) yield await made(part.subarray(0, filled));
}

/** Part `index` of a payload that is held. */
async function partOf(payload: Payload, index: number): Promise<PayloadPart> {
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
