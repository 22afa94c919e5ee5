/** Reading the body of an answer without taking more of it than was asked for. */
import type { Readable } from 'node:stream';
import { objectTooLarge } from './object-name.ts';

/** The first bytes of a body; the rest is not taken. */
export async function startOfBody(body: Readable, sizeBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop destroys the stream.
    if (size >= sizeBytes) break;
  }
  return Buffer.concat(chunks, Math.min(size, sizeBytes));
}

/** The bytes of a body, never more than `maxBytes` of them in memory. */
export async function wholeBody(
  body: Readable,
  length: number | undefined,
  maxBytes: number,
  location: string,
): Promise<Uint8Array> {
  if (length !== undefined && length > maxBytes) {
    body.destroy();
    throw objectTooLarge(location, length, maxBytes);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop destroys the stream.
    if (size > maxBytes) throw objectTooLarge(location, size, maxBytes);
    chunks.push(chunk);
  }
  if (length !== undefined && size !== length) throw new Error(`the body ended after ${size} of ${length} bytes`);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
}
