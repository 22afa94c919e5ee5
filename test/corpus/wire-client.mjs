/**
 * The program under the preload: sends every exchange of a folder through `fetch` or `http.request`, reads the answers whole, and
 * prints one JSON line with what it noticed: `{sent, wrong: [{n, reason}]}`.
 * Arguments: base URL, `fetch` or `http`, folder, most exchanges (0 for all).
 */
import { request as httpRequest, Agent } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { answerOf, requestOf } from './exchange.mjs';
import { loadCorpus } from './load.mjs';

const [url = '', client = 'fetch', directory, limit = '0'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

async function throughFetch({ method, path, headers, body }) {
  const answer = await fetch(url + path, { method, headers, ...(body.length > 0 && { body }) });
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
}

const decoders = { gzip: gunzipSync, br: brotliDecompressSync, deflate: inflateSync };

/** By turns a flat list, which Node sends as it is (with a duplicate), and an object, to which it adds what is missing. */
function httpHeaders(headers, body, n) {
  const list = [...headers, ['content-length', String(body.length)]];
  if (n % 2 === 1) return Object.fromEntries(list);
  return [['host', new URL(url).host], ['x-twice', 'one'], ['X-Twice', 'two'], ...list].flat();
}

function throughHttp({ method, path, headers, body }, n) {
  return new Promise((resolve, reject) => {
    const req = httpRequest(url + path, { method, agent, headers: httpHeaders(headers, body, n) });
    req.on('error', reject);
    req.on('response', (res) => {
      const chunks = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const decode = decoders[res.headers['content-encoding']];
        resolve({ status: res.statusCode, body: decode && bytes.length > 0 ? decode(bytes) : bytes });
      });
    });
    // Uneven writes: a body need not come in one piece.
    const middle = Math.floor(body.length / 3);
    if (body.length > 64) req.write(body.subarray(0, middle));
    req.end(body.length > 64 ? body.subarray(middle) : body);
  });
}

const send = client === 'fetch' ? throughFetch : throughHttp;
const exchanges = loadCorpus(directory || undefined);
const queue = Number(limit) > 0 ? exchanges.slice(0, Number(limit)) : exchanges;
const wrong = [];
let sent = 0;

async function worker() {
  for (let exchange = queue.shift(); exchange !== undefined; exchange = queue.shift()) {
    try {
      const { status, body } = await send(requestOf(exchange), exchange.n);
      const expected = answerOf(exchange);
      sent += 1;
      if (status !== expected.status) wrong.push({ n: exchange.n, reason: `status ${status}` });
      else if (!body.equals(expected.decoded)) wrong.push({ n: exchange.n, reason: 'body' });
    } catch (error) {
      wrong.push({ n: exchange.n, reason: `${error}${error?.cause ? `: ${error.cause}` : ''}` });
    }
  }
}

await Promise.all(Array.from({ length: 8 }, worker));
agent.destroy();
console.log(JSON.stringify({ sent, wrong }));
