/**
 * Sends one request with one client and prints what the client gave back. It knows nothing of Orangebox.
 * Arguments: client, kind of body, URL.
 */
import http from 'node:http';
import { request as namedRequest } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [client, kind, url] = process.argv.slice(2);
const require = createRequire(new URL('../programs/clients/package.json', import.meta.url));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);

const json = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Grüße 世界' }] });
const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer secret', 'X-Two': 'a, b' };
const halves = [Buffer.from(json).subarray(0, 41), Buffer.from(json).subarray(41)];

async function* generated() {
  for (const half of halves) yield half;
}

const form = (FormDataClass, BlobClass = Blob) => {
  const data = new FormDataClass();
  data.append('model', 'whisper');
  data.append('file', new BlobClass(['sound ü'], { type: 'audio/wav' }), 'a.wav');
  return data;
};

const webStream = () =>
  new ReadableStream({
    start(controller) {
      for (const half of halves) controller.enqueue(new Uint8Array(half));
      controller.close();
    },
  });

/** Body and headers for clients of fetch's kind. */
const fetchInit = (kind, { FormData: F = FormData, Blob: B = Blob } = {}) => {
  switch (kind) {
    case 'text':
      return { body: json, headers };
    case 'bytes':
      return { body: Buffer.from(json), headers };
    case 'stream':
      return { body: webStream(), headers, duplex: 'half' };
    case 'form':
      return { body: form(F, B) };
    case 'none':
      return { headers };
    case 'array':
      return {
        body: json,
        headers: [
          ['content-type', 'application/json'],
          ['x-two', 'a'],
          ['x-two', 'b'],
        ],
      };
  }
};

const shown = async (response) => ({
  status: response.status,
  statusText: response.statusText,
  headers: [...response.headers].filter(([name]) => name !== 'date'),
  url: response.url,
  redirected: response.redirected,
  body: await response.text(),
});

const nodeRequest = (request, options = {}) =>
  new Promise((resolve, reject) => {
    const events = [];
    const head =
      kind === 'array'
        ? ['Host', new URL(url).host, 'content-type', 'application/json', 'x-two', 'a', 'x-two', 'b']
        : headers;
    const made = request(url, { method: 'POST', headers: head, ...options }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('close', () => events.push('close'));
      response.on('end', () => {
        const { statusCode, statusMessage, rawHeaders, rawTrailers, httpVersion } = response;
        const noDate = rawHeaders.filter((_, i) => !/^date$/i.test(rawHeaders[i - (i % 2)]));
        const own = Object.keys(made).filter((key) => !key.startsWith('_')).length;
        const counts = made.eventNames().map((name) => `${String(name)}:${made.listenerCount(name)}`);
        const body = Buffer.concat(parts).toString('base64');
        resolve({ statusCode, statusMessage, noDate, rawTrailers, httpVersion, body, events, own, counts });
      });
    });
    for (const name of ['information', 'finish', 'socket', 'timeout', 'abort']) made.on(name, () => events.push(name));
    made.on('error', reject);
    if (kind === 'expect') {
      made.on('continue', () => made.end(json));
    } else if (kind === 'stream') {
      made.setHeader('Trailer', 'x-sent');
      made.write(halves[0]);
      made.addTrailers({ 'x-sent': 'yes' });
      setImmediate(() => made.end(halves[1]));
    } else if (kind === 'encoded') made.end(Buffer.from(json).toString('base64'), 'base64', () => undefined);
    else if (kind === 'none') made.end();
    else made.end(kind === 'bytes' ? Buffer.from(json) : json);
  });

const clients = {
  fetch: async () => shown(await fetch(url, { method: 'POST', ...fetchInit(kind) })),
  'fetch-head': async () => shown(await fetch(url, { method: 'HEAD' })),
  http: () => nodeRequest(http.request),
  'http-named': () => nodeRequest(namedRequest),
  'http-expect': () => nodeRequest(http.request, { headers: { ...headers, Expect: '100-continue' } }),
  'http-upgrade': () =>
    new Promise((resolve, reject) => {
      const made = http.request(url, {
        method: 'POST',
        headers: { ...headers, Connection: 'Upgrade', Upgrade: 'test' },
      });
      made.on('upgrade', (response, socket, first) => {
        socket.on('error', () => undefined).resume();
        socket.on('close', () => resolve({ status: response.statusCode, first: first.toString() }));
      });
      made.on('error', reject).end();
    }),
  'http-agent': async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const results = [];
    for (let i = 0; i < 3; i++) results.push(await nodeRequest(http.request, { agent }));
    agent.destroy();
    return results;
  },
  axios: async () => {
    const { default: axios } = await load('axios');
    const answer = await axios.post(
      url,
      kind === 'stream' ? (await import('node:stream')).Readable.from(halves) : json,
      { headers, validateStatus: null },
    );
    return { status: answer.status, data: answer.data };
  },
  got: async () => {
    const { default: got } = await load('got');
    const answer = await got.post(url, {
      body: json,
      headers,
      throwHttpErrors: false,
      retry: { limit: 0 },
      followRedirect: true,
    });
    return { status: answer.statusCode, body: answer.body };
  },
  'node-fetch': async () => {
    const { default: fetch3 } = await load('node-fetch');
    return shown(
      await fetch3(url, {
        method: 'POST',
        body: kind === 'stream' ? (await import('node:stream')).Readable.from(halves) : json,
        headers,
      }),
    );
  },
  'node-fetch-2': async () => shown(await require('node-fetch-2')(url, { method: 'POST', body: json, headers })),
  'follow-redirects': () => nodeRequest(require('follow-redirects').http.request),
};

/** Libraries that answer requests in the process; what they let through reaches the wire. */
const made = JSON.stringify({ made: 'up' });
const clientsOfMocks = {
  async nock(pass) {
    const { default: nock } = await load('nock');
    if (pass) nock.enableNetConnect();
    else nock(new URL(url).origin).post(new URL(url).pathname).reply(200, made, { 'content-type': 'application/json' });
    return nodeRequest(http.request);
  },
  async msw(pass) {
    const [{ http: on, HttpResponse, passthrough }, { setupServer }] = [await load('msw'), await load('msw/node')];
    const server = setupServer(on.post(url, () => (pass ? passthrough() : new HttpResponse(made))));
    server.listen({ onUnhandledRequest: 'bypass' });
    const results = [
      await nodeRequest(http.request),
      await shown(await fetch(url, { method: 'POST', body: json, headers })),
    ];
    server.close();
    return results;
  },
};
for (const [name, use] of Object.entries(clientsOfMocks)) {
  clients[`${name}-made-up`] = () => use(false);
  clients[`${name}-let-through`] = () => use(true);
}

for (const version of ['5', '6', '7']) {
  const undici = () => require(`undici-${version}`);
  clients[`undici-${version}`] = async () => {
    const init = { ...fetchInit(kind, { FormData: undici().FormData }), method: 'POST' };
    if (kind === 'stream') init.body = generated();
    const answer = await undici().request(url, init);
    return { status: answer.statusCode, body: await answer.body.text() };
  };
  clients[`undici-${version}-fetch`] = async () => {
    const answer = await undici().fetch(url, { method: 'POST', ...fetchInit(kind, { FormData: undici().FormData }) });
    return { status: answer.status, body: await answer.text() };
  };
  clients[`undici-${version}-pool`] = async () => {
    const pool = new (undici().Pool)(new URL(url).origin, { connections: 1 });
    const path = new URL(url).pathname;
    const one = async () => {
      const answer = await pool.request({ path, method: 'POST', body: json, headers });
      return answer.body.text();
    };
    const texts = await Promise.all([one(), one(), one()]);
    await pool.close();
    return texts;
  };
}

try {
  const value = await clients[client]();
  process.stdout.write(JSON.stringify({ value }));
} catch (error) {
  process.stdout.write(JSON.stringify({ error: { name: error.name, message: error.message, code: error.code } }));
}
