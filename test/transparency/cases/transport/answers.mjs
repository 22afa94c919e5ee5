/** Forms of answers, as the client gives them to the program. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { send } from '../../program/send.mjs';
import { CHAT, chatBody as body, chatHeaders as headers, completion, frame, json } from '../forms.mjs';

const text = completion('Grüße, 世界 🎈 '.repeat(20));
const ask = (context) => send(context, CHAT, { body, headers });

/** An answer under a content encoding. */
const encoded = (name, bytes) => ({
  clients: 'all',
  serve: (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': name }).end(bytes),
  run: async (context) => context.failing('asking', () => ask(context)),
});

const binary = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7919 + (i >> 8)) % 256));

/** A status without a body. */
const bodyless = (status, method = 'POST') => ({
  clients: 'all',
  serve: (_request, response) => response.writeHead(status, { etag: '"x"' }).end(),
  run: (context) => send(context, CHAT, method === 'POST' ? { body, headers } : { method, headers }),
});

export const cases = {
  gzip: { ...encoded('gzip', gzipSync(text)), sample: true },
  'gzip, cut short': encoded('gzip', gzipSync(text).subarray(0, 60)),
  br: encoded('br', brotliCompressSync(text)),
  deflate: encoded('deflate', deflateSync(text)),
  'deflate without a header': encoded('deflate', deflateRawSync(text)),
  'two encodings': encoded('deflate, gzip', gzipSync(deflateSync(text))),
  'an unknown encoding': encoded('x-orange', Buffer.from(text)),
  'gzip that is none': encoded('gzip', Buffer.from(text)),
  'bytes both ways': {
    clients: 'all',
    serve: (_request, response, { body: bytes }) =>
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(Buffer.concat([bytes, binary])),
    run: (context) =>
      send(context, '/v1/audio/speech', { body: binary, headers: { 'content-type': 'application/octet-stream' } }),
  },
  'SSE split inside a character, a chunk at a time': {
    clients: ['fetch', 'undici', 'http'],
    sample: true,
    serve: async (_request, response, { until }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const bytes = Buffer.from(frame('ü🎈世'));
      const cuts = [bytes.indexOf(0xc3) + 1, bytes.indexOf(0xf0) + 2, bytes.length];
      let at = 0;
      for (const [i, cut] of cuts.entries()) {
        response.write(bytes.subarray(at, cut));
        at = cut;
        await until(`got${i}`);
      }
      response.end();
    },
    run: async (context) => {
      const { client, observe, origin, tell, load } = context;
      let count = 0;
      const each = async (chunks) => {
        for await (const chunk of chunks) {
          observe('chunk', Buffer.from(chunk));
          await tell(`got${count}`);
          count += 1;
        }
      };
      const options = { method: 'POST', headers, body };
      if (client === 'fetch') await each((await fetch(origin + CHAT, options)).body);
      else if (client === 'undici') await each((await (await load('undici-7')).request(origin + CHAT, options)).body);
      else {
        const { request } = await import('node:http');
        const asked = request(origin + CHAT, { method: 'POST', headers });
        const answered = new Promise((resolve) => asked.on('response', resolve));
        asked.end(body);
        await each(await answered);
      }
    },
  },
  'two Set-Cookie': {
    clients: 'all',
    sample: true,
    serve: (_request, response) => {
      response.setHeader('Set-Cookie', ['a=1; Path=/', 'b=2']);
      json(response.setHeader('X-Odd', 'caf\u00e9'), text);
    },
    run: async (context) => {
      await ask(context);
      if (context.client !== 'fetch') return;
      const response = await fetch(context.origin + CHAT, { method: 'POST', headers, body });
      context.observe('cookies', response.headers.getSetCookie());
      await response.arrayBuffer();
    },
  },
  trailers: {
    clients: 'all',
    serve: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', trailer: 'x-sum, x-more' });
      response.write(text);
      response.addTrailers([
        ['X-Sum', '42'],
        ['x-more', 'yes'],
      ]);
      response.end();
    },
    run: ask,
    recorded: ({ exchanges }) => {
      const trailers = JSON.stringify(exchanges[0].response.trailers);
      if (trailers !== '[["X-Sum","42"],["x-more","yes"]]') throw new Error(`trailers ${trailers}`);
    },
  },
  'informational responses': {
    clients: 'all',
    serve: (_request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</x>; rel=preload' }, () => json(response, text));
    },
    run: ask,
    recorded: ({ exchanges }) => {
      const statuses = exchanges[0].response.informational?.map(({ status }) => status).join();
      if (statuses !== '102,103') throw new Error(`informational ${statuses}`);
    },
  },
  HEAD: bodyless(200, 'HEAD'),
  204: bodyless(204),
  304: bodyless(304, 'GET'),
  'an empty body': {
    clients: 'all',
    serve: (_request, response) => response.writeHead(200, { 'content-length': 0 }).end(),
    run: ask,
  },
  'a status text and a status of its own': {
    clients: 'all',
    serve: (_request, response) => response.writeHead(299, 'Fine So Far').end('ok'),
    run: ask,
  },
  'connection: close': {
    clients: 'all',
    serve: (_request, response) => json(response, text, 200, { connection: 'close' }),
    run: ask,
  },
  'a body that ends with the connection': {
    clients: 'all',
    serveRaw: (socket, { requests, head }) => {
      socket.once('data', (bytes) => {
        const whole = bytes.toString();
        requests.push({
          ...head(whole),
          body: Buffer.from(whole.slice(whole.indexOf('\r\n\r\n') + 4)),
          sent: Buffer.from('to the end'),
        });
        socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end');
      });
    },
    run: (context) => send(context, CHAT, { method: 'GET', headers }),
  },
  'an answer that is no HTTP': {
    clients: 'all',
    serveRaw: (socket, { requests, head }) => {
      socket.once('data', (bytes) => {
        requests.push(head(bytes));
        socket.end('SSH-2.0-OpenSSH_9.9\r\n');
      });
    },
    run: (context) => context.failing('asking', () => send(context, CHAT, { method: 'GET', headers })),
  },
  'chunks of odd forms': {
    clients: 'all',
    serveRaw: (socket, { requests, head }) => {
      socket.once('data', (bytes) => {
        requests.push({ ...head(bytes), sent: Buffer.from('abcdefghijklm') });
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Fold:   a b  \r\n\r\n');
        socket.write('3;ext=1\r\nabc\r\n0000A\r\ndefghijklm\r\n');
        socket.end('0\r\n\r\n');
      });
    },
    run: (context) => send(context, CHAT, { method: 'GET', headers }),
  },
};
