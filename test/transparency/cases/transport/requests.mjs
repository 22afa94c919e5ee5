/** Forms of requests, connections and redirects. */
import { send } from '../../program/send.mjs';
import { CHAT, chatBody as body, chatHeaders as headers, completion, json } from '../forms.mjs';

const ask = (context, options = {}) => send(context, CHAT, { body, headers, ...options });

/** Redirects once, to a path that answers with what came. */
const redirecting = (status) => ({
  clients: ['fetch', 'undici'],
  sample: status === 303,
  // The second hop has another method or body, or is the same request again; either way it is a hop of one call.
  calls: 1,
  serve: (request, response, { nth, body: bytes }) => {
    if (nth > 0) json(response, JSON.stringify([request.method, request.headers.cookie ?? null, bytes.length]));
    else response.writeHead(status, { location: '/v1/elsewhere?a=1', 'set-cookie': 'kept=no' }).end('see there');
  },
  run: (context) => ask(context, { redirect: 'follow', headers: { ...headers, cookie: 'c=1' } }),
});

/** Body and content type of a form; each client has its own class of it. */
function form(FormDataClass) {
  const data = new FormDataClass();
  data.append('model', 'whisper');
  data.append('file', new Blob([Buffer.alloc(100_000, 'sound ü')], { type: 'audio/wav' }), 'ü.wav');
  return data;
}

const pieces = [Buffer.from(body).subarray(0, 40), Buffer.from(body).subarray(40)];

const served = (_request, response, { body: bytes }) => json(response, completion(`got ${bytes.length}`));

/** Sends a few requests over one agent of node:http; what the program sees of its sockets. */
async function overAgent({ origin, observe }, count, between = () => undefined) {
  const { Agent, request } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < count; i += 1) {
    await new Promise((resolve) => {
      const asked = request(origin + CHAT, { method: 'POST', headers, agent });
      asked.on('error', (error) => {
        observe('error', error);
        resolve();
      });
      asked.on('response', (response) => {
        observe('reused', [asked.reusedSocket, response.statusCode]);
        response.resume().on('close', resolve);
      });
      asked.end(body);
    });
    await Promise.resolve(between(i));
  }
  agent.destroy();
}

export const cases = {
  'redirect 301': redirecting(301),
  'redirect 302': redirecting(302),
  'redirect 303': redirecting(303),
  'redirect 307': redirecting(307),
  'redirect 308': redirecting(308),
  'redirects refused': {
    clients: ['fetch'],
    serve: (_request, response) => response.writeHead(302, { location: '/v1/elsewhere' }).end(),
    run: async (context) => {
      await context.failing('error', () => ask(context, { redirect: 'error' }));
      await ask(context, { redirect: 'manual' });
    },
  },
  'a redirect loop': {
    clients: ['fetch'],
    calls: 1,
    serve: (_request, response) => response.writeHead(307, { location: CHAT }).end(),
    run: (context) => context.failing('loop', () => ask(context)),
  },
  'a multipart form with a file': {
    clients: ['fetch', 'undici'],
    serve: served,
    run: async (context) => {
      const data = context.client === 'fetch' ? FormData : (await context.load('undici-7')).FormData;
      // The boundary is a random one; what came is compared by its size, and with what was recorded by its bytes.
      await send({ ...context, observe: () => undefined }, '/v1/audio/transcriptions', {
        body: form(data),
        headers: {},
      });
      context.observe('sent', undefined);
    },
  },
  'a streamed body': {
    clients: ['fetch', 'undici', 'http'],
    serve: served,
    run: (context) =>
      ask(context, {
        body: (async function* chunks() {
          for (const piece of pieces) {
            context.observe('pulled', piece.length);
            yield piece;
          }
        })(),
      }),
  },
  'a streamed body that fails': {
    clients: ['fetch', 'undici'],
    early: true,
    serve: () => undefined,
    run: (context) =>
      context.failing('asking', () =>
        ask(context, {
          body: (async function* chunks() {
            yield pieces[0];
            await context.until('arrived0');
            throw Object.assign(new RangeError('the source broke'), { code: 'E_SOURCE' });
          })(),
        }),
      ),
  },
  'an answer before the request is whole': {
    clients: ['http'],
    early: true,
    serve: (_request, response) => json(response, '{"error":{"message":"too large"}}', 413, { connection: 'close' }),
    run: ({ origin, observe }) =>
      new Promise((resolve) => {
        void import('node:http').then(({ request }) => {
          const asked = request(origin + CHAT, { method: 'POST', headers: { ...headers, 'content-length': 1_000 } });
          asked.on('error', (error) => observe('error', error.code));
          asked.on('response', (response) => {
            observe('status', response.statusCode);
            response.resume().on('close', resolve);
          });
          asked.write(pieces[0]);
        });
      }),
  },
  'Expect: 100-continue': {
    serve: served,
    run: ({ origin, observe }) =>
      new Promise((resolve, reject) => {
        void import('node:http').then(({ request }) => {
          const asked = request(origin + CHAT, { method: 'POST', headers: { ...headers, expect: '100-continue' } });
          asked.on('continue', () => {
            observe('continue', undefined);
            asked.end(body);
          });
          asked.on('response', (response) => {
            observe('response', response);
            response.on('data', (part) => observe('data', part)).on('close', resolve);
          });
          asked.on('error', reject);
        });
      }),
  },
  'a connection upgraded': {
    configure: (server, { requests }) =>
      server.on('upgrade', (request, socket) => {
        const { method, url, rawHeaders } = request;
        requests.push({ method, path: url, rawHeaders, bodyParts: [], sentParts: [] });
        socket.on('error', () => undefined);
        socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nhello');
      }),
    serve: served,
    endings: ['upgraded/101'],
    run: ({ origin, observe }) =>
      new Promise((resolve) => {
        void import('node:http').then(({ request }) => {
          const asked = request(origin + CHAT, { headers: { connection: 'Upgrade', upgrade: 'test' } });
          asked.on('upgrade', (response, socket) => {
            observe('upgrade', response);
            socket.on('data', (bytes) => observe('bytes', bytes)).on('close', resolve);
          });
          asked.end();
        });
      }),
  },
  'keep-alive: a socket used again': {
    sample: true,
    serve: served,
    run: (context) => overAgent(context, 3),
  },
  'keep-alive: a socket that the server closed': {
    serve: (_request, response, { nth, body: bytes }) => {
      json(response, completion(`got ${bytes.length}`));
      if (nth === 0) response.on('close', () => response.socket?.destroy());
    },
    run: (context) => overAgent(context, 2, (i) => (i === 0 ? context.until('closed0') : undefined)),
  },
  'keep-alive: a request on a socket that dies': {
    // The third repeats the second, which failed: attempts of one call.
    calls: 2,
    serve: (_request, response, { nth }) => {
      if (nth === 1) response.socket.destroy();
      else json(response, completion('fine'));
    },
    run: (context) => overAgent(context, 3),
  },
  'keep-alive: fetch after fetch': {
    serve: served,
    run: async (context) => {
      for (let i = 0; i < 3; i += 1) await send({ ...context, client: 'fetch' }, CHAT, { body, headers });
    },
  },
  'pipelining on one connection of a Pool': {
    serve: served,
    run: async ({ origin, observe, load }) => {
      const { Pool } = await load('undici-7');
      const pool = new Pool(origin, { connections: 1, pipelining: 4 });
      const one = async (i) => {
        const answer = await pool.request({ path: `${CHAT}?${i}`, method: 'GET', headers });
        return [answer.statusCode, await answer.body.text()];
      };
      observe('answers', await Promise.all([1, 2, 3, 4, 5].map(one)));
      await pool.close();
    },
  },
  'undici.stream() and undici.pipeline()': {
    serve: served,
    run: async ({ origin, observe, load }) => {
      const { stream, pipeline } = await load('undici-7');
      const { PassThrough, Readable } = await import('node:stream');
      const { text } = await import('node:stream/consumers');
      const sink = new PassThrough();
      const read = text(sink);
      observe(
        'stream',
        await stream(origin + CHAT, { method: 'POST', headers, body }, ({ statusCode }) => {
          observe('status', statusCode);
          return sink;
        }),
      );
      observe('text', await read);
      const duplex = pipeline(origin + CHAT, { method: 'POST', headers }, (answer) => answer.body);
      observe('pipeline', await text(Readable.from([body]).pipe(duplex)));
    },
  },
  "http: get(), options first, and the request's own fields": {
    serve: served,
    run: async ({ origin, observe }) => {
      const http = await import('node:http');
      const { hostname, port } = new URL(origin);
      await new Promise((resolve) => {
        const asked = http.get({ hostname, port, path: CHAT, headers, agent: false }, (response) => {
          response.resume().on('close', resolve);
        });
        observe('request', [asked.constructor.name, asked instanceof http.ClientRequest, asked.path, asked.method]);
        observe('enumerable', Object.keys(asked).sort());
        observe('headers', asked.getHeaders());
        observe('returns', [asked.write.name, asked.end.length, asked.setTimeout(60_000) === asked]);
      });
    },
  },
  'HTTP/2 is left alone': {
    sample: true,
    calls: 0,
    serve: served,
    extraServers: {
      h2: () => http2Server(),
    },
    run: async ({ observe, addresses }) => {
      const { connect } = await import('node:http2');
      const session = connect(`http://127.0.0.1:${addresses.h2}`);
      const stream = session.request({ ':method': 'POST', ':path': CHAT, 'content-type': 'application/json' });
      stream.on('response', (head) =>
        observe(
          'head',
          Object.entries(head).filter(([name]) => name !== 'date'),
        ),
      );
      stream.end(body);
      let text = '';
      for await (const part of stream.setEncoding('utf8')) text += part;
      observe('text', text);
      await new Promise((resolve) => session.close(resolve));
    },
  },
};

/** An HTTP/2 server without TLS. `import()` would be too late here. */
const http2Server = () =>
  process.getBuiltinModule('node:http2').createServer((_request, response) => response.end(completion('by HTTP/2')));
