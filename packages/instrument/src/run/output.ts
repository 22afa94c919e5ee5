/** Digests of what the program writes to its standard output and error. */
import { createHash, type Hash } from 'node:crypto';
import type { OutputDigest } from '@orangebox/schema';
import { type AnyFunction, replaceMethod } from './replace.ts';
import type { Undo } from './ports.ts';

/** One stream, watched. */
export interface WatchedOutput {
  digest(): OutputDigest;
  undo: Undo;
}

/** Watches a stream from now on. */
export function watchOutput(stream: NodeJS.WriteStream): WatchedOutput {
  const hash: Hash = createHash('sha256');
  let sizeBytes = 0;
  const undo = replaceMethod(stream, 'write', (original) => {
    const write: AnyFunction = function write(this: unknown, ...args) {
      const [chunk, encoding] = args as [unknown, unknown];
      const bytes =
        typeof chunk === 'string'
          ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
          : chunk;
      if (bytes instanceof Uint8Array) {
        hash.update(bytes);
        sizeBytes += bytes.length;
      }
      return Reflect.apply(original, this, args) as unknown;
    };
    return write;
  });
  return { digest: () => ({ sha256: hash.copy().digest('hex'), sizeBytes }), undo };
}
