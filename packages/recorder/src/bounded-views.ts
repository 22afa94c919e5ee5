/**
 * What views are read from: very long bodies by their beginning and, of streams, their end, since every event becomes objects and
 * all of it text.
 */
import type { AssembledExchanges, LargeBody } from '@orangebox/codec';
import type { Body, Exchange } from '@orangebox/schema';

/** Streams up to this size are read whole. */
export const VIEWED_STREAM_MAX_BYTES: number = 8 * 1024 * 1024;
/** Other bodies up to this size are read whole: as much as providers take in a request. */
export const VIEWED_BODY_MAX_BYTES: number = 32 * 1024 * 1024;
/** The end of a stream says why it ended, and what it used. */
const TAIL_BYTES = 256 * 1024;
const HEAD_BYTES = VIEWED_STREAM_MAX_BYTES / 2;

/** The exchanges with the bodies that views are made of; the same where none is too long. */
export function exchangesForViews({ exchanges, bytes }: AssembledExchanges): readonly Exchange[] {
  const last = exchanges.at(-1);
  if (!last) return exchanges;
  const viewed = (body: Body): Body => {
    const content = bytes.get(body);
    return content && !(content instanceof Uint8Array) ? viewedBody(content) : body;
  };
  const request = viewed(last.request.body);
  const response = last.response && viewed(last.response.body);
  if (request === last.request.body && response === last.response?.body) return exchanges;
  const shortened: Exchange = {
    ...last,
    request: { ...last.request, body: request },
    ...(last.response && response ? { response: { ...last.response, body: response } } : {}),
  };
  return [...exchanges.slice(0, -1), shortened];
}

/** Of a large body, as much as is looked at. */
function viewedBody(large: LargeBody): Body {
  if (!large.isText) return binary(bytesFrom(large, 0, Math.min(large.sizeBytes, VIEWED_BODY_MAX_BYTES)));
  const isStream = /^\s*(?:data|event|id|retry)?:/.test(bytesFrom(large, 0, 64).toString());
  if (large.sizeBytes <= (isStream ? VIEWED_STREAM_MAX_BYTES : VIEWED_BODY_MAX_BYTES)) {
    return text(bytesFrom(large, 0, large.sizeBytes));
  }
  const head = bytesFrom(large, 0, HEAD_BYTES);
  if (!isStream) return text(head);
  const tail = bytesFrom(large, large.sizeBytes - TAIL_BYTES, TAIL_BYTES);
  const headEnd = head.lastIndexOf('\n\n');
  const tailStart = tail.indexOf('\n\n');
  // Other line ends, or an event that is longer than both: then the beginning alone, however it ends.
  return text(
    headEnd > 0 && tailStart >= 0 ? Buffer.concat([head.subarray(0, headEnd), tail.subarray(tailStart)]) : head,
  );
}

function text(bytes: Buffer): Body {
  return { form: 'text', sizeBytes: bytes.length, text: bytes.toString() };
}

function binary(bytes: Buffer): Body {
  return { form: 'base64', sizeBytes: bytes.length, base64: bytes.toString('base64') };
}

/** A stretch of a body that lies within it or ends with it. */
function bytesFrom(large: LargeBody, from: number, length: number): Buffer {
  const out = Buffer.allocUnsafeSlow(Math.min(length, large.sizeBytes - from));
  let at = 0;
  for (const piece of large.pieces()) {
    const end = at + piece.length;
    if (end > from) out.set(piece.subarray(Math.max(0, from - at), from + out.length - at), Math.max(0, at - from));
    at = end;
    if (at >= from + out.length) break;
  }
  return out;
}
