/** Reads the body of a request: whole, unpacked, and never more than was booked for it. */
import type { IncomingMessage } from 'node:http';
import { createGunzip, createInflate } from 'node:zlib';
import type { Booking } from './memory.ts';

/** Why a body was not taken. */
export type BodyFault = 'too_large' | 'no_memory' | 'aborted' | 'encoding' | 'damaged';

/** A body that was not taken. */
export class BodyError extends Error {
  readonly fault: BodyFault;

  constructor(fault: BodyFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** `content-encoding` as it is understood; undefined for any other. */
export function contentEncoding(value: string | undefined): 'identity' | 'gzip' | 'deflate' | undefined {
  const name = (value ?? 'identity').trim().toLowerCase();
  if (name === '' || name === 'identity') return 'identity';
  return name === 'gzip' || name === 'deflate' ? name : undefined;
}

/** `content-length` as a number; undefined where the length is not said. */
export function contentLength(request: IncomingMessage): number | undefined {
  const value = request.headers['content-length'];
  return value === undefined ? undefined : Number(value);
}

/**
 * The bytes of the body. `booking` holds what they take until it is closed.
 *
 * @param maxBytes of the body, as sent and unpacked.
 * @throws BodyError.
 */
export async function readBody(request: IncomingMessage, booking: Booking, maxBytes: number): Promise<Buffer> {
  const encoding = contentEncoding(request.headers['content-encoding']);
  if (encoding === undefined) throw new BodyError('encoding', 'the content encoding is not gzip, deflate or identity');
  const sent = await readSent(request, booking, maxBytes);
  if (encoding === 'identity') return sent;
  const body = await unpack(sent, encoding, booking, maxBytes);
  booking.give(sent.length);
  return body;
}

async function readSent(request: IncomingMessage, booking: Booking, maxBytes: number): Promise<Buffer> {
  const said = contentLength(request);
  if (said !== undefined) {
    if (said > maxBytes) throw tooLarge(maxBytes);
    return fill(chunksOf(request), booking, said);
  }
  return collect(chunksOf(request), booking, maxBytes);
}

/**
 * A body of a known length. Memory is taken as bytes come, so that nobody holds room of others by announcing a body; the
 * moment in which its beginning is copied is not booked.
 */
async function fill(chunks: AsyncIterable<Buffer>, booking: Booking, said: number): Promise<Buffer> {
  let whole = Buffer.alloc(0);
  let size = 0;
  for await (const chunk of chunks) {
    const needed = size + chunk.length;
    if (needed > whole.length) {
      const length = Math.min(said, Math.max(needed, 2 * whole.length));
      if (!booking.tryTake(length - whole.length)) throw noMemory();
      const larger = Buffer.allocUnsafeSlow(length);
      whole.copy(larger, 0, 0, size);
      whole = larger;
    }
    chunk.copy(whole, size);
    size = needed;
  }
  if (size !== said) throw new BodyError('aborted', 'the body ended early');
  return whole;
}

async function* chunksOf(request: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) yield chunk;
  } catch {
    throw new BodyError('aborted', 'the connection was cut');
  }
}

/**
 * Chunks of unknown number in one piece; while they are joined both are held. What would not fit even if nobody else were
 * there is too large: later it would fit as little.
 */
async function collect(
  chunks: AsyncIterable<Buffer>,
  booking: Booking,
  mostBytes: number,
  heldBytes = 0,
): Promise<Buffer> {
  const maxBytes = Math.min(mostBytes, Math.floor((booking.capacityBytes - heldBytes) / 2));
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    if (!booking.tryTake(2 * chunk.length)) throw noMemory();
    pieces.push(chunk);
  }
  const whole = Buffer.concat(pieces, size);
  booking.give(size);
  return whole;
}

async function unpack(sent: Buffer, encoding: 'gzip' | 'deflate', booking: Booking, maxBytes: number): Promise<Buffer> {
  const stream = encoding === 'gzip' ? createGunzip() : createInflate();
  stream.end(sent);
  try {
    return await collect(stream as AsyncIterable<Buffer>, booking, maxBytes, sent.length);
  } catch (error) {
    if (error instanceof BodyError) throw error;
    throw new BodyError('damaged', `the body is no whole ${encoding}`);
  } finally {
    stream.destroy();
  }
}

function tooLarge(maxBytes: number): BodyError {
  return new BodyError('too_large', `the body has more than ${maxBytes} bytes`);
}

function noMemory(): BodyError {
  return new BodyError('no_memory', 'too many bytes are being worked on');
}
