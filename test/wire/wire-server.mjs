/** A server that answers in every form the wire knows; it keeps what it received. The path's first segment is the form. */
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const text = JSON.stringify({ id: 'x', text: 'Grüße, 世界 🎈'.repeat(20) });

const forms = {
  plain: (_request, response) => {
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    response.writeHead(200, 'Fine', { 'Content-Type': 'application/json', 'X-Odd': 'caf\u00e9' });
    response.end(text);
  },
  chunked: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const bytes = Buffer.from(text);
    // Every seventh byte is the end of a write, so that characters are split.
    let at = 0;
    const next = () => {
      if (at >= bytes.length) return response.end();
      response.write(bytes.subarray(at, at + 7), next);
      at += 7;
    };
    next();
  },
  gzip: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync(text));
  },
  redirect: (request, response) => {
    response.writeHead(307, { location: request.url.replace('/redirect/', '/plain/') });
    response.end('see there');
  },
  trailers: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', trailer: 'x-sum' });
    response.write(text);
    response.addTrailers({ 'x-sum': '42' });
    response.end();
  },
  empty: (_request, response) => {
    response.writeHead(204);
    response.end();
  },
  unchanged: (_request, response) => {
    response.writeHead(304, { etag: '"x"' });
    response.end();
  },
  hints: (_request, response) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: '</x>; rel=preload' }, () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(text);
    });
  },
  close: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
    response.end(text);
  },
};

/** Starts the server. */
export async function startWireServer() {
  const received = [];
  const server = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const { method, url, rawHeaders, rawTrailers } = request;
      received.push({
        method,
        url,
        rawHeaders,
        rawTrailers,
        body: Buffer.concat(parts),
        port: request.socket.remotePort,
      });
      forms[url.split('/')[1]](request, response);
    });
  });
  server.on('upgrade', (request, socket) => {
    received.push({
      method: request.method,
      url: request.url,
      rawHeaders: request.rawHeaders,
      rawTrailers: [],
      body: Buffer.alloc(0),
    });
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nhello');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return {
    port,
    received,
    text,
    url: (form, run) => `http://127.0.0.1:${port}/${form}/${run}/v1/chat/completions`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
