/** A large answer through a reader that is slower than the wire: what is held back stays held back. */
import { createHash } from 'node:crypto';
import { CHAT, chatBody as body, chatHeaders as headers } from '../forms.mjs';

const piece = Buffer.alloc(64 * 1024, 'back-pressure ');

const sizeOf = (whole) => (whole ? 16_384 : 1_600);

/** Writes as fast as the socket takes it, and no faster. */
function flood(request, response) {
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  let left = Number(request.headers['x-pieces']);
  const more = () => {
    while (left > 0) {
      left -= 1;
      if (!response.write(piece)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}

export const cases = {
  'a gigabyte with back-pressure (100 MB unless --whole)': {
    clients: ['fetch', 'http'],
    limitMs: 300_000,
    serve: flood,
    run: async ({ origin, observe, client, whole }) => {
      const options = { method: 'POST', body, headers: { ...headers, 'x-pieces': String(sizeOf(whole)) } };
      const stream = client === 'fetch' ? (await fetch(origin + CHAT, options)).body : await byHttp(origin, options);
      const hash = createHash('sha256');
      let size = 0;
      let nextPause = 8 * 1024 * 1024;
      let peak = 0;
      for await (const part of stream) {
        hash.update(part);
        size += part.length;
        if (size < nextPause) continue;
        nextPause += 8 * 1024 * 1024;
        // A reader that takes its time: what the wire brings meanwhile must not pile up.
        for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
        peak = Math.max(peak, process.memoryUsage().rss);
      }
      observe('size', size);
      observe('sha256', hash.digest('hex'));
      // The default bounds are 64 MiB of one body and 64 MiB of memory; the rest is Node.js itself and what it has yet to free.
      observe('within its bound', peak < 600 * 1024 * 1024);
    },
  },
};

const byHttp = async (origin, { method, body: text, headers: sent }) => {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    request(origin + CHAT, { method, headers: sent }, resolve)
      .on('error', reject)
      .end(text);
  });
};
