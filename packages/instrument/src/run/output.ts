/** Digests of what the program writes to its standard output and error. */
import { createHash, type Hash } from 'node:crypto';
import type { OutputDigest } from '@orangebox/schema';
import { type AnyFunction, replaceMethod } from './replace.ts';
import type { Undo } from './ports.ts';

/** So much of it is kept as it is. */
const HEAD_BYTES = 64 * 1024;

/** Makes other bytes of those that are written before they count. */
export interface MappedBytes {
  push(bytes: Uint8Array): Uint8Array;
  /** What is left at the end. */
  rest(): Uint8Array;
}

/** One stream, watched. */
export interface WatchedOutput {
  digest(): OutputDigest;
  undo: Undo;
}

/**
 * Watches a stream from now on. `map`: what counts is what this makes of it; what is written stays as it is. `firstBytes`: no more
 * than so many count.
 */
export function watchOutput(
  stream: NodeJS.WriteStream,
  map?: MappedBytes,
  firstBytes: number = Number.POSITIVE_INFINITY,
): WatchedOutput {
  const hash: Hash = createHash('sha256');
  let sizeBytes = 0;
  const head: Uint8Array[] = [];
  /** As many of them as still count. */
  const first = (bytes: Uint8Array): Uint8Array => bytes.subarray(0, Math.max(0, firstBytes - sizeBytes));
  const undo = replaceMethod(stream, 'write', (original) => {
    const write: AnyFunction = function write(this: unknown, ...args) {
      const [chunk, encoding] = args as [unknown, unknown];
      const bytes =
        typeof chunk === 'string'
          ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
          : chunk;
      if (bytes instanceof Uint8Array) {
        const counted = first(map ? map.push(bytes) : bytes);
        hash.update(counted);
        if (sizeBytes < HEAD_BYTES) head.push(Uint8Array.from(counted.subarray(0, HEAD_BYTES - sizeBytes)));
        sizeBytes += counted.length;
      }
      return Reflect.apply(original, this, args) as unknown;
    };
    return write;
  });
  const digest = (): OutputDigest => {
    const rest = first(map?.rest() ?? new Uint8Array());
    const whole = Buffer.concat([...head, rest]).subarray(0, HEAD_BYTES);
    return {
      sha256: hash.copy().update(rest).digest('hex'),
      sizeBytes: sizeBytes + rest.length,
      ...(whole.length > 0 ? { head: whole.toString('base64') } : {}),
    };
  };
  return { digest, undo };
}
