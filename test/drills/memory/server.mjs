/**
 * What the memory drill's programs speak to: answers of any size, written as fast as they are read and no faster, and a receiver of
 * payloads. Prints its base URL; lives until its input ends. `/BYTES/plain|sse|gzip/v1/…` is an answer of that many bytes (before
 * packing), anything else a small one.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

const BLOCK_BYTES = 64 * 1024;

/** Words that gzip makes something of, but not too much. */
function words(sizeBytes, start) {
  let text = '';
  let state = start;
  while (text.length < sizeBytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${state.toString(36)} `;
  }
  return text.slice(0, sizeBytes);
}

const TEXT = Buffer.from(words(BLOCK_BYTES, 1));
const EVENT_TEXT = words(180, 7);
const EVENTS = Buffer.from(
  Array.from({ length: 256 }, (_, n) => {
    const choices = [{ index: 0, delta: { content: `${n} ${EVENT_TEXT}` } }];
    return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'orange-1', choices })}\n\n`;
  }).join(''),
);
const HEAD =
  '{"id":"chatcmpl-1","object":"chat.completion","model":"orange-1","choices":[{"index":0,"message":{"role":"assistant","content":"';
const TAIL = '"},"finish_reason":"stop"}]}';

function* body(sizeBytes, form) {
  const block = form === 'sse' ? EVENTS : TEXT;
  if (form !== 'sse') yield Buffer.from(HEAD);
  for (let left = sizeBytes; left > 0; left -= block.length)
    yield left < block.length && form !== 'sse' ? block.subarray(0, left) : block;
  yield Buffer.from(form === 'sse' ? 'data: [DONE]\n\n' : TAIL);
}

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    const [, size, form] = /^\/(\d+)\/(plain|sse|gzip)\//.exec(request.url ?? '') ?? [];
    if (request.url === '/v1/traces') {
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      return;
    }
    const type = form === 'sse' ? 'text/event-stream' : 'application/json';
    response.writeHead(200, { 'content-type': type, ...(form === 'gzip' ? { 'content-encoding': 'gzip' } : {}) });
    const steps = [Readable.from(body(Number(size ?? 2000), form), { objectMode: false, highWaterMark: BLOCK_BYTES })];
    if (form === 'gzip') steps.push(createGzip({ level: 1 }));
    pipeline(...steps, response).catch(() => response.destroy());
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
process.stdin.resume().once('end', () => process.exit(0));
