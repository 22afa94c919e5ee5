/** Recorded exchanges in the form that the codec's adapters read. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { answerOf, requestOf } from './exchange.mjs';

const decoders = { gzip: gunzipSync, 'x-gzip': gunzipSync, br: brotliDecompressSync, deflate: inflateSync };

/** The content decoder that readers in Node inject. */
export function decodeContent(encoding, bytes) {
  return decoders[encoding]?.(bytes);
}

function bodyOf(bytes) {
  if (bytes.length === 0) return { form: 'empty', sizeBytes: 0 };
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes)
    ? { form: 'text', sizeBytes: bytes.length, text }
    : { form: 'base64', sizeBytes: bytes.length, base64: bytes.toString('base64') };
}

/** One line of the corpus as an exchange of a snapshot. */
export function exchangeOf(line) {
  const { method, path, headers, body } = requestOf(line);
  const answer = answerOf(line);
  return {
    attempt: 0,
    startUnixNano: '1',
    endOffsetNano: '1',
    client: 'undici',
    request: { method, url: line.request.origin + path, headers, body: bodyOf(body), chunks: [], sent: true },
    response: {
      status: answer.status,
      statusText: '',
      headers: answer.headers,
      headOffsetNano: '1',
      body: bodyOf(Buffer.concat(answer.pieces)),
      chunks: [],
    },
    ending: 'complete',
    stage: 'done',
  };
}
