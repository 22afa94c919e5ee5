/** Programs that put something of their own in the place of `fetch`, `http` or a dispatcher. */
import { send } from '../../program/send.mjs';
import { CHAT, chatBody as body, chatHeaders as headers, completion, json } from '../forms.mjs';

const served = (_request, response) => json(response, completion('from the wire'));
const madeUp = completion('made up');
const CLIENTS = ['fetch', 'http'];
const ask = (context, options = {}) => send(context, CHAT, { body, headers, ...options });

/** The program's own wrapper of `fetch`; it gives the same as before, and counts. */
function patchFetch(observe) {
  const original = globalThis.fetch;
  globalThis.fetch = async function patched(...args) {
    observe('asked', args.length);
    const response = await Reflect.apply(original, this, args);
    observe('answered', response.status);
    return response;
  };
  return original;
}

export const cases = {
  'fetch patched by the program': {
    sample: true,
    serve: served,
    run: async (context) => {
      const { observe } = context;
      observe('platform', [fetch.name, fetch.length, String(fetch).slice(0, 30)]);
      observe(
        'descriptor',
        Object.entries(Object.getOwnPropertyDescriptor(globalThis, 'fetch')).map(([k, v]) => [k, typeof v]),
      );
      patchFetch(observe);
      await ask({ ...context, client: 'fetch' });
      observe('name', fetch.name);
    },
  },
  'fetch patched before anything else is loaded': {
    serve: served,
    nodeArgs: ['--require', new URL('./patch-first.cjs', import.meta.url).pathname],
    run: async (context) => {
      context.observe('patched', globalThis.patchedFirst);
      await ask({ ...context, client: 'fetch' });
      context.observe('counted', globalThis.patchedFirst);
    },
  },
  'fetch patched and put back': {
    serve: served,
    run: async (context) => {
      const original = patchFetch(context.observe);
      await ask({ ...context, client: 'fetch' });
      globalThis.fetch = original;
      await ask({ ...context, client: 'fetch' });
      context.observe('same', globalThis.fetch === original);
    },
  },
  'http.request patched by the program': {
    serve: served,
    run: async (context) => {
      const { default: http } = await import('node:http');
      const original = http.request;
      http.request = function patched(...args) {
        context.observe('asked', args.length);
        return Reflect.apply(original, this, args);
      };
      await ask({ ...context, client: 'http' });
      http.request = original;
      await ask({ ...context, client: 'http' });
    },
  },
  'ClientRequest.prototype.end patched by the program': {
    // Requests of the OTLP exporters are made with `node:http` too, so a program that patches its prototypes sees them.
    local: true,
    serve: served,
    run: async (context) => {
      const { ClientRequest } = await import('node:http');
      const { end } = ClientRequest.prototype;
      ClientRequest.prototype.end = function patched(...args) {
        context.observe('ended with', args.length);
        return Reflect.apply(end, this, args);
      };
      await ask({ ...context, client: 'http' });
    },
  },
  'msw answers': {
    clients: CLIENTS,
    sample: true,
    calls: 0,
    run: async (context) => {
      const { setupServer } = await context.load('msw/node');
      const { http, HttpResponse } = await context.load('msw');
      const answer = () => new HttpResponse(madeUp, { headers: { 'content-type': 'application/json' } });
      const server = setupServer(http.post(context.origin + CHAT, answer));
      server.listen({ onUnhandledRequest: 'error' });
      await ask(context);
      server.close();
    },
  },
  'msw lets through': {
    clients: CLIENTS,
    serve: served,
    run: async (context) => {
      const { setupServer } = await context.load('msw/node');
      const { http, passthrough } = await context.load('msw');
      const server = setupServer(http.post(context.origin + CHAT, () => passthrough()));
      server.listen({ onUnhandledRequest: 'bypass' });
      await ask(context);
      server.close();
      await ask(context);
    },
  },
  'nock answers': {
    clients: CLIENTS,
    sample: true,
    calls: 0,
    run: async (context) => {
      const { default: nock } = await context.load('nock');
      nock(context.origin).post(CHAT).reply(200, madeUp, { 'content-type': 'application/json' });
      nock.disableNetConnect();
      await ask(context);
      await context.failing('not known', () => send(context, '/v1/other', { body, headers }));
    },
  },
  'nock lets through': {
    clients: CLIENTS,
    serve: served,
    run: async (context) => {
      const { default: nock } = await context.load('nock');
      nock.enableNetConnect();
      await ask(context);
      nock.restore();
      await ask(context);
    },
  },
  'undici MockAgent answers': {
    clients: ['undici'],
    sample: true,
    calls: 0,
    run: async (context) => {
      const { MockAgent, setGlobalDispatcher } = await context.load('undici-7');
      const agent = new MockAgent();
      agent.disableNetConnect();
      setGlobalDispatcher(agent);
      const interceptor = agent.get(context.origin).intercept({ path: CHAT, method: 'POST' });
      interceptor.reply(200, madeUp, { headers: { 'content-type': 'application/json' } });
      await ask(context, { global: true });
      agent.assertNoPendingInterceptors();
      await context.failing('not known', () => ask(context, { global: true }));
      // The platform's fetch follows the global dispatcher too.
      agent.get(context.origin).intercept({ path: CHAT, method: 'POST' }).reply(201, madeUp);
      await ask({ ...context, client: 'fetch' });
    },
  },
  'undici MockAgent lets through': {
    clients: ['undici'],
    serve: served,
    run: async (context) => {
      const { MockAgent } = await context.load('undici-7');
      const dispatcher = new MockAgent();
      dispatcher.enableNetConnect();
      await ask(context, { dispatcher });
      await dispatcher.close();
    },
  },
  'own property names of http objects': {
    serve: served,
    deviations: [{ label: 'own names', why: 'tapped request and response objects have own methods, not enumerable' }],
    run: ({ origin, observe }) =>
      new Promise((resolve) => {
        void import('node:http').then(({ request }) => {
          const asked = request(origin + CHAT, { method: 'POST', headers });
          asked.on('response', (response) => {
            observe('own names', [
              Object.getOwnPropertyNames(asked).sort(),
              Object.getOwnPropertyNames(response).sort(),
            ]);
            response.resume().on('close', resolve);
          });
          asked.end(body);
        });
      }),
  },
  'http.request itself': {
    serve: served,
    calls: 0,
    deviations: [
      {
        label: 'functions',
        why: 'http.request and get of http and https are proxies of the originals: their source text is hidden',
        on: (major) => major < 22,
      },
    ],
    run: async ({ observe }) => {
      const { default: http } = await import('node:http');
      const { default: https } = await import('node:https');
      for (const { request, get } of [http, https]) observe('functions', [request, get, String(request).slice(0, 60)]);
      observe('keys', [
        Object.keys(http).sort(),
        Object.keys(globalThis).sort(),
        Reflect.ownKeys(process).map(String).sort(),
      ]);
    },
  },
  'global names and symbols': {
    serve: served,
    calls: 0,
    deviations: [
      { label: 'own keys', why: 'one symbol on globalThis, by which the API and a second preload find the first' },
    ],
    run: ({ observe }) => observe('own keys', Reflect.ownKeys(globalThis).map(String).sort()),
  },
  'listeners of process': {
    serve: served,
    deviations: [
      {
        label: 'listeners',
        why: 'from the first recorded request on one listener more of exit, beforeExit, SIGTERM and SIGINT',
      },
    ],
    run: async (context) => {
      const names = [
        'exit',
        'beforeExit',
        'SIGTERM',
        'SIGINT',
        'SIGHUP',
        'uncaughtException',
        'unhandledRejection',
        'warning',
      ];
      const counts = () => names.map((name) => [name, process.listenerCount(name)]);
      context.observe('listeners before', counts());
      await ask({ ...context, client: 'fetch' });
      context.observe('listeners', counts());
    },
  },
};
