/**
 * The programs of the memory drill. `stream URL` reads one answer chunk by chunk, with a pause after every few MiB so that the
 * server has to wait; `calls URL N` makes N small calls, some at a time. Prints what it read as JSON.
 */
import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';

const [work = '', url = '', countText = '1'] = process.argv.slice(2);
const PAUSE_EVERY_BYTES = 16 * 2 ** 20;
const AT_ONCE = 16;
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-drill-0123456789abcdef' };
const request = (text) => ({
  method: 'POST',
  headers,
  body: JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content: text }] }),
});

const hash = createHash('sha256');
let bytes = 0;

/** Of a packed answer: `fetch` of Node 20 unpacks ahead of its reader and holds it all, so that its own memory would hide ours. */
function unpacked(asked) {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: asked.method, headers: asked.headers }, (answer) => {
      resolve(answer.pipe(createGunzip()));
      answer.on('error', reject);
    });
    sent.on('error', reject).end(asked.body);
  });
}

async function stream() {
  const asked = request('much of it, please');
  const body = url.includes('/gzip/') ? await unpacked(asked) : (await fetch(url, asked)).body;
  let pauseAt = PAUSE_EVERY_BYTES;
  for await (const chunk of body) {
    bytes += chunk.length;
    hash.update(chunk);
    if (bytes < pauseAt) continue;
    pauseAt += PAUSE_EVERY_BYTES;
    await wait(5);
  }
}

async function calls() {
  let left = Number(countText);
  const filler = 'An orange is round, and so is this text. '.repeat(48);
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await fetch(url, request(`${left} ${filler}`));
      const body = Buffer.from(await answer.arrayBuffer());
      bytes += body.length;
      hash.update(body);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

await (work === 'stream' ? stream() : calls());
process.stdout.write(`${JSON.stringify({ bytes, sha256: hash.digest('hex') })}\n`);
