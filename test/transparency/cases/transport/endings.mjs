/** Requests that end badly, or that the program gives up. */
import { send } from '../../program/send.mjs';
import { CHAT, chatBody as body, chatHeaders as headers, completion, json } from '../forms.mjs';

const ask = (context, options = {}) => send(context, CHAT, { body, headers, ...options });
const failing = (context, options) => context.failing('asking', () => ask(context, options));

export const cases = {
  'a reset before the head': {
    clients: 'all',
    sample: true,
    endings: ['reset/-'],
    serve: (_request, response) => response.socket.resetAndDestroy(),
    run: failing,
  },
  'a hang-up before the head': {
    clients: 'all',
    endings: ['reset/-'],
    serve: (_request, response) => response.socket.end(),
    run: failing,
  },
  'a body cut short': {
    clients: 'all',
    endings: ['cut/200'],
    serve: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
      response.write('{"id":"x"', () => response.socket.end());
    },
    run: failing,
  },
  'chunks cut short': {
    clients: 'all',
    endings: ['cut/200'],
    serve: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id":"x"', () => response.socket.end());
    },
    run: failing,
  },
  'an abort before the head': {
    clients: 'all',
    sample: true,
    endings: ['caller_abort/-'],
    serve: () => undefined,
    run: async (context) => {
      const controller = new AbortController();
      void context.until('arrived0').then(() => controller.abort());
      await failing(context, { signal: controller.signal });
      await context.until('closed0');
    },
  },
  'an abort with a reason of its own': {
    clients: 'all',
    serve: () => undefined,
    run: async (context) => {
      const controller = new AbortController();
      const reason = Object.assign(new TypeError('left'), { code: 'E_LEFT', extra: { a: 1 } });
      void context.until('arrived0').then(() => controller.abort(reason));
      await failing(context, { signal: controller.signal });
      context.observe('signal', controller.signal);
    },
  },
  'a body cancelled': {
    clients: ['fetch'],
    endings: ['caller_stopped_reading/200'],
    serve: (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).write('first'),
    run: async ({ origin, observe, until }) => {
      const response = await fetch(origin + CHAT, { method: 'POST', body, headers });
      const reader = response.body.getReader();
      observe('first', (await reader.read()).value);
      observe('cancel', await reader.cancel('enough'));
      observe('closed', await reader.closed);
      observe('upstream', await until('closed0'));
    },
  },
  'a response destroyed': {
    clients: ['http', 'undici'],
    serve: (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).write('first'),
    run: async ({ origin, observe, until, client, load }) => {
      const watched = (stream) => {
        for (const name of ['data', 'end', 'aborted', 'error', 'close'])
          stream.on(name, (value) => observe(name, value));
        stream.once('data', () => stream.destroy());
      };
      if (client === 'undici')
        watched((await (await load('undici-7')).request(origin + CHAT, { method: 'POST', body, headers })).body);
      else {
        const { request } = await import('node:http');
        const asked = request(origin + CHAT, { method: 'POST', headers }, watched);
        for (const name of ['error', 'close', 'abort']) asked.on(name, (value) => observe(`request ${name}`, value));
        asked.end(body);
      }
      observe('upstream', await until('closed0'));
    },
  },
  "http: the program's own timeout": {
    serve: () => undefined,
    endings: ['timeout/-'],
    run: ({ origin, observe }) =>
      new Promise((resolve) => {
        void import('node:http').then(({ request }) => {
          const asked = request(origin + CHAT, { method: 'POST', headers });
          // Not before it was sent, or a busy machine would time out while it connects.
          asked.on('finish', () => asked.setTimeout(500));
          asked.on('timeout', () => {
            observe('timeout', undefined);
            asked.destroy(new Error('too slow'));
          });
          asked.on('error', (error) => observe('error', error));
          asked.on('close', resolve);
          asked.end(body);
        });
      }),
  },
  'undici: its own timeouts': {
    clients: ['undici'],
    serve: () => undefined,
    endings: ['timeout/-'],
    run: async ({ origin, failing: fail, load }) => {
      const { Agent, request } = await load('undici-7');
      const dispatcher = new Agent({ headersTimeout: 2_000 });
      await fail('asking', () => request(origin + CHAT, { method: 'POST', headers, body, dispatcher }));
      await dispatcher.destroy();
    },
  },
  'the winner of Promise.race': {
    clients: ['fetch', 'undici'],
    sample: true,
    endings: ['complete/200', 'caller_abort/-'],
    serve: (request, response) => (request.headers['x-slow'] ? undefined : json(response, completion('fast'))),
    run: async (context) => {
      const controller = new AbortController();
      const slow = ask(context, { headers: { ...headers, 'x-slow': '1' }, signal: controller.signal });
      await context.until('arrived0');
      const fast = send({ ...context, observe: () => undefined }, CHAT, { body, headers });
      const winner = await Promise.race([slow.then(() => 'slow'), fast.then(() => 'fast')]);
      context.observe('winner', winner);
      controller.abort();
      context.observe('settled', await Promise.allSettled([slow, fast]));
      await context.until('closed0');
    },
  },
  'two equal requests in parallel, the slower first': {
    clients: 'all',
    serve: async (_request, response, { nth, until }) => {
      if (nth === 0) await until('second');
      json(response, completion(nth === 0 ? 'first, but slow' : 'second, but fast'));
    },
    run: async (context) => {
      const quiet = { ...context, observe: () => undefined };
      const first = send(quiet, CHAT, { body, headers });
      await context.until('arrived0');
      const second = send(quiet, CHAT, { body, headers });
      context.observe('second', await second);
      await context.tell('second');
      context.observe('first', await first);
    },
  },
};
