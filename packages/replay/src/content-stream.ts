/** Content decoding of streamed bodies, as `fetch` does it. */
import { pipeline, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';

/**
 * Decoders for a `content-encoding`, in the order they are applied. Undefined where a coding is unknown: such a body
 * stays as it is, as in `fetch`.
 */
export function contentDecoders(encoding: string): Transform[] | undefined {
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '');
  if (codings.length > 5) return undefined;
  const decoders: Transform[] = [];
  for (const coding of codings.reverse()) {
    const decoder = decoderOf(coding);
    if (!decoder) return undefined;
    decoders.push(decoder);
  }
  return decoders;
}

function decoderOf(coding: string): Transform | undefined {
  // Servers may end a gzip without its last bytes; browsers and fetch take what came.
  const flush = zlib.constants.Z_SYNC_FLUSH;
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip({ flush, finishFlush: flush });
    case 'deflate':
      return zlib.createInflate({ flush, finishFlush: flush });
    case 'br':
      return zlib.createBrotliDecompress({
        flush: zlib.constants.BROTLI_OPERATION_FLUSH,
        finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
      });
    case 'zstd':
      return 'createZstdDecompress' in zlib ? (zlib.createZstdDecompress as () => Transform)() : undefined;
    default:
      return undefined;
  }
}

/** Decoded bytes of encoded chunks, as they come out. The first fault, of the chunks or of a decoder, is thrown. */
export async function* decodeChunks(
  chunks: AsyncIterable<Uint8Array>,
  decoders: readonly Transform[],
): AsyncGenerator<Uint8Array, void, undefined> {
  const last = decoders.at(-1);
  if (!last) {
    yield* chunks;
    return;
  }
  // The fault reaches the reader through the last stream; the callback only keeps it from being unhandled.
  pipeline([Readable.from(chunks), ...decoders], () => undefined);
  for await (const bytes of last as AsyncIterable<Uint8Array>) yield bytes;
}
