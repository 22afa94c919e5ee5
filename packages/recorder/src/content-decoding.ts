/** Content codings of HTTP, decoded with `node:zlib`: beside the program for recording, synchronously for reading. */
import type { Transform } from 'node:stream';
import type { HeaderList } from '@orangebox/schema';
import { joinedHeader } from './joined-header.ts';

// A namespace that is imported is copied name by name, before the first request leaves.
const zlib = process.getBuiltinModule('node:zlib');

/** There from Node 22.15 on. */
const zstd: {
  zstdDecompressSync?: (bytes: Uint8Array, options: { maxOutputLength: number; finishFlush: number }) => Uint8Array;
  createZstdDecompress?: (options: { finishFlush: number }) => Transform;
} = zlib as object;

/** `ZSTD_e_flush`: a stream that was cut short gives what it has. */
const ZSTD_FLUSH = 1;

/** Decoded bodies above this are not made: a small body can decode to any size. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;

/** Codings that change no byte, and words that servers send by mistake. */
const NO_CODING: ReadonlySet<string> = new Set([
  ...['', 'identity', 'aws-chunked', 'chunked'],
  ...['none', 'binary', 'utf-8', 'utf8', '7bit', '8bit'],
]);

/** The codings of a `content-encoding` value in the order they were applied; those that change nothing left out. */
export function contentCodings(value: string | undefined): string[] {
  return (value ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => !NO_CODING.has(coding));
}

/** The codings of a body by its headers, also those of `transfer-encoding` that no client undoes. */
export function bodyCodings(headers: HeaderList): string[] {
  return ['content-encoding', 'transfer-encoding'].flatMap((name) => contentCodings(joinedHeader(headers, name)));
}

/** Decodes a body that may have been cut short; undefined when the coding is unknown or the bytes are not of it. */
export function decodeContent(encoding: string, bytes: Uint8Array): Uint8Array | undefined {
  let out: Uint8Array = bytes;
  try {
    for (const coding of contentCodings(encoding).reverse()) {
      const decode = syncDecoder(coding, out);
      if (!decode) return undefined;
      out = decode(out);
    }
    return out;
  } catch {
    return undefined;
  }
}

function syncDecoder(coding: string, bytes: Uint8Array): ((bytes: Uint8Array) => Uint8Array) | undefined {
  const options = { finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength: MAX_DECODED_BYTES };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return (b) => zlib.gunzipSync(b, options);
    case 'deflate':
      return isZlibWrapped(bytes) ? (b) => zlib.inflateSync(b, options) : (b) => zlib.inflateRawSync(b, options);
    case 'br':
      return (b) =>
        zlib.brotliDecompressSync(b, {
          finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
          maxOutputLength: MAX_DECODED_BYTES,
        });
    case 'zstd':
      return (
        zstd.zstdDecompressSync &&
        ((b) => zstd.zstdDecompressSync?.(b, { maxOutputLength: MAX_DECODED_BYTES, finishFlush: ZSTD_FLUSH }) ?? b)
      );
    default:
      return undefined;
  }
}

function isZlibWrapped(bytes: Uint8Array): boolean {
  return bytes.length === 0 || ((bytes[0] ?? 0) & 0x0f) === 8;
}

/** Where a whole run is recorded, the order of what the program compresses counts, and this is none of it. */
const OWN_STREAM: symbol = Symbol.for('orangebox.own');

function decoderStream(coding: string, first: Uint8Array): Transform | undefined {
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip(flush);
    case 'deflate':
      return isZlibWrapped(first) ? zlib.createInflate(flush) : zlib.createInflateRaw(flush);
    case 'br':
      return zlib.createBrotliDecompress({
        flush: zlib.constants.BROTLI_OPERATION_FLUSH,
        finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
      });
    case 'zstd':
      return zstd.createZstdDecompress?.({ finishFlush: ZSTD_FLUSH });
    default:
      return undefined;
  }
}

/**
 * Decodes chunk by chunk on the thread pool: output `i` is what chunk `i` brought. Undefined when the bytes are not of
 * the coding, or decode to more than {@link MAX_DECODED_BYTES}.
 */
export async function decodeChunks(
  codings: readonly string[],
  chunks: readonly Uint8Array[],
): Promise<Uint8Array[] | undefined> {
  let current: Uint8Array[] | undefined = [...chunks];
  for (const coding of [...codings].reverse()) {
    current = await decodeWith(coding, current);
    if (!current) return undefined;
  }
  return current;
}

function decodeWith(coding: string, chunks: Uint8Array[]): Promise<Uint8Array[] | undefined> {
  const stream = decoderStream(coding, chunks.find((chunk) => chunk.length > 0) ?? new Uint8Array(0));
  if (!stream) return Promise.resolve(undefined);
  Object.defineProperty(stream, OWN_STREAM, { value: true });
  return new Promise((resolve) => {
    const out: Uint8Array[] = [];
    let pieces: Uint8Array[] = [];
    let total = 0;
    const give = (result: Uint8Array[] | undefined): void => {
      resolve(result);
      stream.destroy();
    };
    stream.on('data', (piece: Uint8Array) => {
      total += piece.length;
      if (total > MAX_DECODED_BYTES) give(undefined);
      else pieces.push(piece);
    });
    stream.on('error', () => give(undefined));
    stream.on('end', () => {
      // What only came out at the end belongs to the last chunk.
      if (pieces.length > 0) out.push(Buffer.concat([out.pop() ?? new Uint8Array(0), ...pieces]));
      give(out);
    });
    const next = (i: number): void => {
      const chunk = chunks[i];
      if (chunk === undefined) {
        stream.end();
        return;
      }
      stream.write(chunk, (error) => {
        if (error) return;
        out.push(Buffer.concat(pieces));
        pieces = [];
        next(i + 1);
      });
    };
    next(0);
  });
}
