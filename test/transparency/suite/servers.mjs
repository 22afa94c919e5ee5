/** What a case talks to: the provider, or a server of its own. Each run of a program has its own, so that all it saw is that run's. */
import { createServer as createHttpServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { startProvider } from '../../fixtures/provider/server.mjs';

const listen = (server) =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => resolve(server.address().port));
  });

/** Promises by name, to be settled or waited for in any order. */
function signals() {
  const known = new Map();
  const get = (name) => {
    if (!known.has(name)) {
      const entry = {};
      entry.promise = new Promise((resolve) => {
        entry.resolve = resolve;
      });
      known.set(name, entry);
    }
    return known.get(name);
  };
  return { until: (name) => get(name).promise, tell: (name) => get(name).resolve() };
}

/** The program's side channel: `tell NAME` says that something happened there, `until NAME` is answered once it happened here. */
async function startControl(marks) {
  const sockets = new Set();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.setEncoding('utf8').on('data', (line) => {
      const [verb, name] = line.trim().split(' ');
      if (verb === 'tell') {
        marks.tell(name);
        socket.end('ok');
      } else void marks.until(name).then(() => socket.end('ok'));
    });
  });
  const port = await listen(server);
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Keeps the body bytes that are written to a response. */
function noteBody(response, entry) {
  for (const name of ['write', 'end']) {
    const method = response[name];
    response[name] = (chunk, ...rest) => {
      if (typeof chunk === 'string' || ArrayBuffer.isView(chunk)) {
        entry.sentSize += Buffer.byteLength(chunk);
        if (entry.sentSize <= 100e6) entry.sentParts.push(Buffer.from(chunk));
      }
      return method.call(response, chunk, ...rest);
    };
  }
}

/** An HTTP server that answers by the case's `serve(request, response, {nth, body, tell, until})` once the request has come whole. */
async function startHandler(serve, { early = false, configure }, marks) {
  const requests = [];
  const handle = (request, response) => {
    const entry = {
      method: request.method,
      path: request.url,
      rawHeaders: request.rawHeaders,
      bodyParts: [],
      sentParts: [],
      sentSize: 0,
    };
    const nth = requests.push(entry) - 1;
    response.sendDate = false;
    response.on('error', () => undefined);
    noteBody(response, entry);
    let bodySize = 0;
    request.on('data', (part) => {
      bodySize += part.length;
      if (bodySize <= 100e6) entry.bodyParts.push(part);
    });
    request.on('error', () => undefined);
    const answer = () => serve(request, response, { nth, body: Buffer.concat(entry.bodyParts), entry, ...marks });
    if (early) answer();
    request.on('end', () => {
      entry.rawTrailers = request.rawTrailers;
      if (!early) answer();
    });
    response.on('close', () => {
      entry.closed = true;
      marks.tell(`closed${nth}`);
    });
    marks.tell(`arrived${nth}`);
  };
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, handle);
  configure?.(server, { requests, handle, ...marks });
  const port = await listen(server);
  return {
    port,
    requests: () =>
      requests.map(({ bodyParts, sentParts, sent, ...entry }) => ({
        ...entry,
        body: Buffer.concat(bodyParts),
        sent: sent ?? Buffer.concat(sentParts),
      })),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * A bare server: `serveRaw(socket, {requests, nth, ...})` writes what it likes and pushes the requests it saw to `requests`, as
 * `{method, path, body, sent}` with what it sent as body.
 */
async function startRaw(serveRaw, marks) {
  const requests = [];
  const sockets = new Set();
  let connections = 0;
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    serveRaw(socket, { requests, nth: connections++, head: (text) => parseHead(text), ...marks });
  });
  const port = await listen(server);
  return {
    port,
    requests: () => requests,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Request line of a head, as raw servers note it. */
function parseHead(text) {
  const [method, path] = String(text).split('\r\n', 1)[0].split(' ');
  return { method, path, body: Buffer.alloc(0), sent: Buffer.alloc(0) };
}

/** Starts what one run of a case needs. */
export async function startServers(testCase) {
  const marks = signals();
  const control = await startControl(marks);
  let main;
  if (testCase.serveRaw !== undefined) main = await startRaw(testCase.serveRaw, marks);
  else if (testCase.serve !== undefined) main = await startHandler(testCase.serve, testCase, marks);
  else {
    const provider = await startProvider({ script: testCase.script ?? '', seed: 'transparency' });
    main = {
      port: Number(new URL(provider.url).port),
      requests: () => provider.requests,
      close: () => provider.close(),
    };
  }
  const extras = [];
  const addresses = {};
  for (const [name, start] of Object.entries(testCase.extraServers ?? {})) {
    const server = start({ port: main.port, ...marks });
    server.on('error', () => undefined);
    addresses[name] = await listen(server);
    extras.push(server);
  }
  return {
    port: main.port,
    control: control.port,
    addresses,
    requests: main.requests,
    async close() {
      control.close();
      for (const server of extras) {
        server.closeAllConnections?.();
        server.close();
      }
      await Promise.resolve(main.close());
    },
  };
}
