/** A provider that ends badly in every way. The path's first segment says how; each run of a program uses its own prefix. */
import { createServer } from 'node:http';

const answer = (text) =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop', logprobs: null }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });

const frame = (text) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
  })}\n\n`;

const error = (response, status, message, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'test_error', code: `e${status}`, param: null } }));
};

const sse = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' });

/** How to answer, by the way of ending; `nth` counts requests of one run from 0. */
const ways = {
  ok: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answer('hello'));
  },
  401: (response) => error(response, 401, 'bad key'),
  400: (response) => error(response, 400, 'bad request'),
  404: (response) => error(response, 404, 'no such model'),
  500: (response) => error(response, 500, 'broken', { 'retry-after-ms': '20' }),
  429: (response, nth) =>
    nth === 0 ? error(response, 429, 'slow down', { 'retry-after-ms': '20' }) : ways.ok(response),
  /** A retry that is asked for once the program was told to end. */
  'slow-429': (response, nth) =>
    nth === 0 ? error(response, 429, 'slow down', { 'retry-after-ms': '400' }) : ways.ok(response),
  'twice-429': (response, nth) =>
    nth < 2 ? error(response, 429, 'slow down', { 'retry-after-ms': '20' }) : ways.ok(response),
  reset: (response) => response.socket.resetAndDestroy(),
  hangup: (response) => response.socket.end(),
  cut: (response) => {
    sse(response);
    response.write(frame('one'), () => setTimeout(() => response.socket.destroy(), 20));
  },
  'reset-once': (response, nth) => (nth === 0 ? ways.reset(response) : ways.ok(response)),
  'cut-plain': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"id":"x"', () => setTimeout(() => response.socket.destroy(), 20));
  },
  'error-frame': (response) => {
    sse(response);
    response.write(frame('one'));
    response.end(`data: ${JSON.stringify({ error: { message: 'overloaded', type: 'server_error', code: null } })}\n\n`);
  },
  silent: () => undefined,
  'half-silent': (response) => {
    sse(response);
    response.write(frame('one'));
  },
  stream: (response) => {
    sse(response);
    for (const text of ['one', 'two', 'three']) response.write(frame(text));
    response.end('data: [DONE]\n\n');
  },
  /** More than any buffer on the way holds, so that the wire stops when nobody reads. */
  flood: (response, _nth, stalled) => {
    sse(response);
    const text = frame('x'.repeat(64 * 1024));
    let left = 1000;
    let quiet;
    const more = () => {
      clearTimeout(quiet);
      while (left-- > 0) {
        if (response.write(text)) continue;
        quiet = setTimeout(stalled, 150);
        return response.once('drain', more);
      }
      response.end('data: [DONE]\n\n');
    };
    more();
  },
};

/** The body bytes that are written to a response from now on, in a list that grows. */
function noteBody(response) {
  const sent = [];
  for (const name of ['write', 'end']) {
    const method = response[name];
    response[name] = (chunk, ...rest) => {
      if (typeof chunk === 'string') sent.push(Buffer.from(chunk));
      return method.call(response, chunk, ...rest);
    };
  }
  return sent;
}

/** Promises by name that can be settled before they are asked for. */
function signals() {
  const known = new Map();
  const get = (name) => {
    if (!known.has(name)) known.set(name, Promise.withResolvers?.() ?? withResolvers());
    return known.get(name);
  };
  return { when: (name) => get(name).promise, set: (name) => get(name).resolve() };
}

function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve) => {
    made.resolve = resolve;
  });
  return made;
}

/**
 * Starts the provider; `base(way, run)` is the URL of a run that ends this way. `/when/arrived/<run>`,
 * `/when/answered/<run>` and `/when/stalled/<run>` answer once the run's request has come, was answered, or its flood is blocked.
 */
export async function startProvider() {
  const counts = new Map();
  const seen = [];
  const { when, set } = signals();
  const server = createServer((request, response) => {
    if (request.url.startsWith('/when/')) {
      void when(request.url.slice(6)).then(() => response.end('now'));
      return;
    }
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('end', () => {
      const [, way, run] = request.url.split('/');
      const nth = counts.get(run) ?? 0;
      counts.set(run, nth + 1);
      seen.push({
        url: request.url,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(parts),
        sent: noteBody(response),
      });
      set(`arrived/${run}`);
      response.on('finish', () => set(`answered/${run}`));
      ways[way](response, nth, () => set(`stalled/${run}`));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return {
    port,
    seen,
    base: (way, run) => `http://127.0.0.1:${port}/${way}/${run}/v1`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
