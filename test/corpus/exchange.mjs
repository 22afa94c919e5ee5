/** Turns recorded exchanges into requests to send and answers to serve. */
import { bodyBytes } from './load.mjs';

/** Request header that tells the server which exchange is meant. */
export const EXCHANGE_HEADER = 'x-corpus-exchange';

/** A credential sent with every request, so that masking is part of the comparison. */
export const CORPUS_KEY = 'sk-corpus-0123456789abcdefghijklmnop';

/** Headers that clients set themselves or refuse to be given. */
const clientsOwn = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'expect',
  'te',
  'trailer',
  'upgrade',
  'authorization',
]);

/** Headers of a connection, not of a message; the server sets its own. */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'content-encoding',
]);

const contentTypes = {
  json: 'application/json',
  sse: 'text/event-stream',
  ndjson: 'application/x-ndjson',
  'aws-eventstream': 'application/vnd.amazon.eventstream',
  text: 'text/plain',
};

/** Whether the source has no request, so that one is made up. */
export const isMadeUp = (exchange) => exchange.tags.includes('response_only');

/** A plausible request for a line without one. */
function madeUpBody({ api, model, stream }) {
  const text = 'A request was not published; this one stands in for it – schöne Grüße 🍊';
  const input = api.endsWith('responses') ? { input: text } : { messages: [{ role: 'user', content: text }] };
  return Buffer.from(JSON.stringify({ model: model ?? 'unknown', ...input, ...(stream && { stream: true }) }));
}

/** Method, path, header pairs and body of the request to send. */
export function requestOf(exchange) {
  const { method, path, headers } = exchange.request;
  const body = isMadeUp(exchange) ? madeUpBody(exchange) : bodyBytes(exchange.request);
  const list = Object.entries(headers).filter(([name]) => !clientsOwn.has(name));
  if (body.length > 0 && headers['content-type'] === undefined) list.push(['content-type', 'application/json']);
  list.push(['authorization', `Bearer ${CORPUS_KEY}`], [EXCHANGE_HEADER, String(exchange.n)]);
  return { method, path, headers: list, body: method === 'GET' ? Buffer.alloc(0) : body };
}

/** Cuts bytes at the given sizes; what is left over is the last piece. */
function cut(bytes, sizes) {
  const pieces = [];
  let at = 0;
  for (const size of sizes) {
    if (at >= bytes.length) break;
    if (size > 0) pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  if (at < bytes.length) pieces.push(bytes.subarray(at));
  return pieces;
}

/** Awkward pieces: single bytes first, inside the first multi-byte characters, then uneven ones. */
function awkward(bytes, seed) {
  const marks = new Set([1, 2, 3, 5, 8]);
  for (let i = 0, found = 0; i < bytes.length && found < 6; i += 1) {
    const byte = bytes[i];
    if (byte < 0xc2) continue;
    // A lead byte: one cut after it, and one after the next byte of longer characters.
    marks.add(i + 1);
    if (byte >= 0xe0) marks.add(i + 2);
    found += 1;
    i += 3;
  }
  let state = (seed * 2654435761 + 1) >>> 0;
  const step = Math.max(16, Math.floor(bytes.length / 12));
  for (let at = 13; at < bytes.length; at += 1 + (state % (2 * step))) {
    marks.add(at);
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  }
  const ends = [...marks].filter((m) => m < bytes.length).sort((a, b) => a - b);
  return cut(
    bytes,
    ends.map((end, i) => end - (ends[i - 1] ?? 0)),
  );
}

/** Status, header pairs, pieces to write and the decoded body of the answer to serve. */
export function answerOf(exchange) {
  const { response, n } = exchange;
  const headers = Object.entries(response.headers).filter(([name]) => !connectionHeaders.has(name));
  const decoded = bodyBytes(response);
  if (response.headers['content-type'] === undefined && contentTypes[response.body_kind] !== undefined) {
    headers.push(['content-type', contentTypes[response.body_kind]]);
  }
  let pieces;
  if (response.encoded !== undefined) {
    headers.push(['content-encoding', response.encoded.encoding]);
    const recorded = response.encoded.chunks_base64.map((chunk) => Buffer.from(chunk, 'base64'));
    pieces = recorded.length > 1 ? recorded : awkward(Buffer.concat(recorded), n);
  } else if (response.chunk_sizes !== undefined) {
    pieces = cut(decoded, response.chunk_sizes);
  } else {
    pieces = awkward(decoded, n);
  }
  return { status: response.status, headers, pieces, decoded };
}
