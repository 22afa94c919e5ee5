/** Content decoding for readers, bounded so that a small recording cannot fill the memory. */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import * as zlib from 'node:zlib';

/** Largest decoded body a reader makes. */
export const DECODED_BODY_MAX_BYTES: number = 512 * 1024 * 1024;

/**
 * Decodes a body of a `content-encoding` (several are undone from the last to the first). Undefined for unknown
 * encodings, for bytes that do not decode and for more than `maxBytes`, {@link DECODED_BODY_MAX_BYTES} by default.
 */
export function decodeContent(
  encoding: string,
  bytes: Uint8Array,
  maxBytes: number = DECODED_BODY_MAX_BYTES,
): Uint8Array | undefined {
  let current: Uint8Array = bytes;
  const codings = codingsOf(encoding);
  if (!codings) return undefined;
  for (const coding of codings) {
    const decoded = decodeOne(coding, current, maxBytes);
    if (!decoded) return undefined;
    current = decoded;
  }
  return current;
}

/** The codings of a `content-encoding` in the order in which they are undone; undefined when there are too many. */
export function codingsOf(encoding: string): string[] | undefined {
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  // More than a few codings is an attack, not a server.
  return codings.length > 5 ? undefined : codings.reverse();
}

function decodeOne(coding: string, bytes: Uint8Array, maxBytes: number): Uint8Array | undefined {
  const limit = { maxOutputLength: maxBytes };
  // A body that was cut still shows what came: the flush modes give what is whole.
  const lenient = { ...limit, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  try {
    switch (coding) {
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, lenient);
      case 'deflate':
        return deflated(bytes, lenient);
      case 'br':
        return brotliDecompressSync(bytes, { ...limit, finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
      case 'zstd':
        return zstd(bytes, limit);
      default:
        return undefined;
    }
  } catch {
    return undefined;
  }
}

/** `deflate` means zlib, but some servers send raw deflate. */
function deflated(bytes: Uint8Array, options: zlib.ZlibOptions): Uint8Array {
  return ((bytes[0] ?? 0) & 0x0f) === 8 ? inflateSync(bytes, options) : inflateRawSync(bytes, options);
}

/** Node has zstd from 22.15 on. */
function zstd(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array | undefined {
  if (!('zstdDecompressSync' in zlib)) return undefined;
  const decompress = zlib.zstdDecompressSync as (data: Uint8Array, options: object) => Uint8Array;
  return decompress(bytes, options);
}
