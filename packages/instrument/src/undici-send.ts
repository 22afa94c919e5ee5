/**
 * Sees a request of undici's HTTP/1.1 client leave. The client tells its request of bytes when the socket has taken them;
 * by then the server may have answered and the process may be gone. So the socket's writes are looked at, from the head on
 * until the request is out, by an own `write` that is taken off again. Of the end of a body in chunks the client tells before
 * it is written, so that nobody needs to look for it here.
 */
import { bodyBytes, NO_BYTES } from './body-bytes.ts';
import { type MethodNotes, tapMethod } from './method-tap.ts';

/** What is looked at of the socket. */
export interface SendSocket {
  write?: unknown;
}

/** Who is told, before the socket has the bytes. */
export interface SendNotes {
  /** The head is next; `bodyBytes` is undefined where the body goes out in chunks. */
  head(bodyBytes: number | undefined): void;
  /** A part of the body is next, without framing; with `isLast` the request is whole once it is out. */
  body(part: unknown, bytes: Uint8Array, isLast: boolean): void;
}

const CHUNK_SIZE = /^\r\n([0-9a-f]+)\r\n$/;

/**
 * Looks at a socket until the request whose head begins with `headText` is out; the result ends it before. Undefined where
 * somebody else looks already. Bytes in another order than the client's end it as well: then the notes say less, never
 * something wrong.
 */
export function watchSend(socket: SendSocket, headText: string, notes: SendNotes): (() => void) | undefined {
  if (Object.hasOwn(socket, 'write')) return undefined;
  let expected: 'head' | 'body' | 'size' | 'chunk' = 'head';
  let bytesLeft = 0;
  const stop = (): void => {
    tap.before = undefined;
    if (socket.write === own) delete socket.write;
  };

  const seeHead = (data: unknown): void => {
    if (typeof data !== 'string' || !data.startsWith(headText)) return stop();
    const framing = data.slice(headText.length);
    if (/^transfer-encoding: chunked\r\n$/i.test(framing)) {
      expected = 'size';
      return notes.head(undefined);
    }
    const length = framing === '\r\n' ? '0' : /^content-length: (\d+)\r\n\r\n$/i.exec(framing)?.[1];
    if (length === undefined) return stop();
    expected = 'body';
    bytesLeft = Number(length);
    notes.head(bytesLeft);
    if (bytesLeft > 0) return;
    stop();
    notes.body(undefined, NO_BYTES, true);
  };

  const seeSize = (data: unknown): void => {
    const size = typeof data === 'string' ? CHUNK_SIZE.exec(data)?.[1] : undefined;
    if (size === undefined) return stop();
    bytesLeft = Number.parseInt(size, 16);
    expected = 'chunk';
  };

  const seeBytes = (data: unknown): void => {
    const bytes = bodyBytes(data);
    if (bytes === undefined) return stop();
    bytesLeft -= bytes.length;
    if (expected === 'chunk') {
      if (bytesLeft !== 0) return stop();
      expected = 'size';
      return notes.body(data, bytes, false);
    }
    if (bytesLeft <= 0) stop();
    notes.body(data, bytes, bytesLeft <= 0);
  };

  const tap: MethodNotes = {
    before: ([data]) => {
      if (expected === 'head') seeHead(data);
      else if (expected === 'size') seeSize(data);
      else seeBytes(data);
    },
  };
  if (!tapMethod(socket, 'write', tap)) return undefined;
  const own = socket.write;
  return stop;
}
