/** The beginning of a compressed body, for readers that show no more of it. */
import { Readable, type Transform, pipeline } from 'node:stream';
import * as zlib from 'node:zlib';
import { codingsOf } from './decode-content.ts';

/** What a body begins with, decoded. */
export interface DecodedStart {
  bytes: Uint8Array;
  /** There is more of it. */
  cut: boolean;
}

/**
 * Decodes no more than the first `maxBytes` of a body, beside the event loop. Undefined for unknown encodings and for
 * bytes that do not decode.
 */
export async function decodeStart(
  encoding: string,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<DecodedStart | undefined> {
  const codings = codingsOf(encoding);
  const decoders = codings?.map((coding, i) => decoderOf(coding, i === 0 ? bytes : undefined));
  if (!decoders?.every((decoder) => decoder !== undefined)) return undefined;
  const body = Readable.from([bytes], { objectMode: true });
  // What goes wrong comes out of the last stream too.
  const last = decoders.length === 0 ? body : (pipeline([body, ...decoders], () => {}) as unknown as Readable);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of last as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      size += chunk.length;
      // Leaving the loop ends the streams: of a bomb nothing more is unpacked.
      if (size > maxBytes) break;
    }
  } catch {
    return undefined;
  }
  return { bytes: Buffer.concat(chunks, Math.min(size, maxBytes)), cut: size > maxBytes };
}

function decoderOf(coding: string, bytes: Uint8Array | undefined): Transform | undefined {
  // A body that was cut still shows what came.
  const lenient = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip(lenient);
    case 'deflate':
      // `deflate` means zlib, but some servers send raw deflate.
      return bytes === undefined || ((bytes[0] ?? 0) & 0x0f) === 8
        ? zlib.createInflate(lenient)
        : zlib.createInflateRaw(lenient);
    case 'br':
      return zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      // Node has it from 22.15 on.
      return 'createZstdDecompress' in zlib ? (zlib.createZstdDecompress as () => Transform)() : undefined;
    default:
      return undefined;
  }
}
