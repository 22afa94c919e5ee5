/** Ways in which a program sets up the SDK's transport. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { messages } from '../forms.mjs';

const request = { model: 'gpt-test', messages };

/** A proxy that tunnels by CONNECT and forwards plain requests, and says so in a header. */
const startProxy = () => {
  const server = createServer((incoming, outgoing) => {
    const { hostname, port, pathname } = new URL(incoming.url);
    void import('node:http').then(({ request: forward }) => {
      const { method, headers } = incoming;
      incoming.pipe(
        forward({ hostname, port, path: pathname, method, headers }, (answer) => {
          outgoing.writeHead(answer.statusCode, answer.rawHeaders);
          answer.pipe(outgoing);
        }),
      );
    });
  });
  server.on('connect', (incoming, socket, head) => {
    const [host, port] = incoming.url.split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    for (const side of [socket, upstream]) side.on('error', () => undefined);
  });
  return server;
};

const isConnect = (exchange) => exchange.request.method === 'CONNECT';

export const cases = {
  'a custom fetch': {
    run: async ({ openai, observe }) => {
      const seen = [];
      const own = async (url, init) => {
        seen.push([url, Object.keys(init).sort(), init.method]);
        const response = await fetch(url, init);
        return new Proxy(response, {
          get: (target, key) => {
            const value = target[key];
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
      };
      const client = await openai({ fetch: own });
      observe('answer', await client.chat.completions.create(request));
      observe('seen', seen);
    },
  },
  "npm undici's fetch": {
    run: async ({ openai, observe, load, texts }) => {
      const undici = await load('undici-7');
      const client = await openai({ fetch: undici.fetch });
      observe('answer', await client.chat.completions.create(request));
      const response = await client.chat.completions.create(request).asResponse();
      observe('response', { class: response.constructor.name, own: response instanceof undici.Response });
      observe('text', await response.text());
      observe('texts', await texts(await client.chat.completions.create({ ...request, stream: true })));
    },
  },
  'a custom dispatcher': {
    sample: true,
    run: async ({ openai, observe, load, texts }) => {
      const { Agent, fetch: undiciFetch } = await load('undici-7');
      const dispatcher = new Agent({ connections: 1, pipelining: 1 });
      for (const name of ['connect', 'disconnect', 'connectionError'])
        dispatcher.on(name, (...values) => observe(name, values.length));
      const client = await openai({ fetch: undiciFetch, fetchOptions: { dispatcher } });
      observe('answer', await client.chat.completions.create(request));
      observe('texts', await texts(await client.chat.completions.create({ ...request, stream: true })));
      await dispatcher.close();
    },
  },
  'a dispatcher composed of interceptors': {
    run: async ({ openai, observe, load }) => {
      const { Agent, fetch: undiciFetch } = await load('undici-7');
      const dispatcher = new Agent().compose((dispatch) => (options, handler) => {
        observe('dispatch', [options.method, options.path, Object.keys(handler).length >= 0]);
        return dispatch(options, handler);
      });
      const client = await openai({ fetch: undiciFetch, fetchOptions: { dispatcher } });
      observe('answer', await client.chat.completions.create(request));
      await dispatcher.close();
    },
  },
  'a proxy, by ProxyAgent': {
    extraServers: { proxy: startProxy },
    // The CONNECT is a request to the proxy, by HTTP/1 as well; https-proxy-agent writes it to the socket by itself.
    offWire: isConnect,
    calls: 2,
    run: async ({ openai, observe, load, addresses }) => {
      const { ProxyAgent, fetch: undiciFetch } = await load('undici-7');
      const dispatcher = new ProxyAgent(`http://127.0.0.1:${addresses.proxy}`);
      const client = await openai({ fetch: undiciFetch, fetchOptions: { dispatcher } });
      observe('answer', await client.chat.completions.create(request));
      await dispatcher.close();
    },
  },
  'openai 4 with a keep-alive httpAgent': {
    run: async ({ openai, observe, texts }) => {
      const { Agent } = await import('node:http');
      const httpAgent = new Agent({ keepAlive: true, maxSockets: 1 });
      const client = await openai({ httpAgent }, 'openai', 'openai-4');
      observe('answer', await client.chat.completions.create(request));
      observe('texts', await texts(await client.chat.completions.create({ ...request, stream: true })));
      observe('sockets', [Object.keys(httpAgent.sockets).length, Object.keys(httpAgent.freeSockets).length]);
      httpAgent.destroy();
    },
  },
  'openai 4 through a proxy, by https-proxy-agent': {
    extraServers: { proxy: startProxy },
    offWire: isConnect,
    calls: 1,
    run: async ({ openai, observe, load, addresses }) => {
      const { HttpsProxyAgent } = await load('https-proxy-agent');
      const httpAgent = new HttpsProxyAgent(`http://127.0.0.1:${addresses.proxy}`);
      const client = await openai({ httpAgent }, 'openai', 'openai-4');
      observe('answer', await client.chat.completions.create(request));
    },
  },
  'openai 4: 401, and a response': {
    run: async ({ openai, observe, failing }) => {
      const client = await openai({}, 'openai', 'openai-4');
      const response = await client.chat.completions.create(request).asResponse();
      observe('response', { status: response.status, class: response.constructor.name, own: Object.keys(response) });
      observe('text', await response.text());
      const wrong = await openai({ apiKey: 'sk-wrong' }, 'openai', 'openai-4');
      await failing('401', () => wrong.chat.completions.create(request));
    },
  },
  'three versions of the SDK in one process': {
    sample: true,
    run: async ({ openai, observe, texts }) => {
      const clients = await Promise.all([openai(), openai({}, 'openai', 'openai-4'), openai({}, 'openai', 'openai-5')]);
      observe('answers', await Promise.all(clients.map((client) => client.chat.completions.create(request))));
      const streamed = { ...request, stream: true };
      for (const client of clients) observe('texts', await texts(await client.chat.completions.create(streamed)));
    },
  },
};
