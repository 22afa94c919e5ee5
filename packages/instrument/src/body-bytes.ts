/** What programs and clients hand over as parts of a body, as bytes. */

/** No bytes: the body of a request without one, or what follows the last bytes of one. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Bytes of a part of a body, a view where it is one; undefined for what is neither text nor bytes. */
export function bodyBytes(part: unknown, encoding?: unknown): Uint8Array | undefined {
  if (typeof part === 'string') {
    const isKnown = typeof encoding === 'string' && Buffer.isEncoding(encoding);
    return Buffer.from(part, isKnown ? encoding : 'utf8');
  }
  if (!ArrayBuffer.isView(part)) return undefined;
  return part instanceof Uint8Array ? part : new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
}
