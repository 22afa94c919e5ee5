/** The framing headers that undici adds after the header text it publishes, by the rules of its HTTP/1.1 writer. */
import type { HeaderList } from '@orangebox/schema';
import { headerValue } from './header-text.ts';

/** Methods for which undici sends `content-length: 0` when there is no body. */
const EXPECTS_PAYLOAD: ReadonlySet<string> = new Set(['PUT', 'POST', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH']);

/** The members of undici's request object that are read here. */
export interface UndiciBody {
  method: string;
  body: unknown;
  contentLength: number | null;
}

/** Length of the body as undici knows it when it writes the head; undefined where it will use chunks. */
export function knownBodyLength(request: UndiciBody): number | undefined {
  const { body } = request;
  if (body === null || body === undefined) return 0;
  if (ArrayBuffer.isView(body)) return body.byteLength;
  if (typeof body === 'object') {
    const state = (body as { _readableState?: ReadableState })._readableState;
    if (state && typeof (body as { on?: unknown }).on === 'function') {
      const length = state.length;
      if (state.objectMode === false && state.ended === true && Number.isFinite(length)) return length;
    } else if (body instanceof Blob) return body.size;
  }
  return request.contentLength ?? undefined;
}

interface ReadableState {
  objectMode?: boolean;
  ended?: boolean;
  length?: number;
}

/**
 * Appends the framing header to a list of headers as published; returns the indexes of what was appended. `sentBytes`
 * is false when the request ended without a body byte. HTTP/2 has none.
 */
export function addFraming(
  headers: HeaderList,
  request: UndiciBody,
  length: number | undefined,
  sentBytes: boolean,
): number[] {
  if (headers[0]?.[0].startsWith(':') || headerValue(headers, 'content-length') !== undefined) return [];
  if (!sentBytes) {
    if (!EXPECTS_PAYLOAD.has(request.method)) return [];
    headers.push(['content-length', '0']);
  } else if (length === undefined) headers.push(['transfer-encoding', 'chunked']);
  else headers.push(['content-length', String(length)]);
  return [headers.length - 1];
}
