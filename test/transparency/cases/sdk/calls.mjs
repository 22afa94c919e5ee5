/** Plain calls of the SDK, its helpers, and what it throws. */
import { CHAT, chatBody, completion, json, messages, twoFrames } from '../forms.mjs';

const request = { model: 'gpt-test', messages };
const create = async ({ openai }, options, ...rest) =>
  (await openai(options)).chat.completions.create(request, ...rest);

const silent = () => undefined;

/** Runs `work` once the request is at the server: what then times out waits for the head, however busy the machine is. */
const onArrival = (context, work) => void context.until('arrived0').then(work);

/** Lets the timer of this many milliseconds, the SDK's own, run from the arrival of the request on, and shortly. */
function hastenTimer(context, delayMs) {
  const { setTimeout: start } = globalThis;
  globalThis.setTimeout = (work, ms, ...rest) => {
    if (ms !== delayMs) return start(work, ms, ...rest);
    onArrival(context, () => start(work, 10, ...rest));
    return undefined;
  };
}

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

const REFUSED = 'complete/429 or caller_stopped_reading/429';

export const cases = {
  'a plain call': {
    sample: true,
    run: async (context) => {
      const promise = create(context);
      context.observe('answer', await promise);
    },
  },
  'the promise of a call': {
    run: async ({ openai, observe }) => {
      const promise = (await openai()).chat.completions.create(request);
      observe('promise', promise);
      observe('own', Reflect.ownKeys(promise));
      observe('then', promise.then);
      observe('value', await promise.finally(() => observe('finally', undefined)));
    },
  },
  '.withResponse() and .asResponse(), plain': {
    sample: true,
    run: async ({ openai, observe }) => {
      const client = await openai();
      observe('with', await client.chat.completions.create(request).withResponse());
      const response = await client.chat.completions.create(request).asResponse();
      observe('as', response);
      observe('text', await response.text());
      observe('after', response);
    },
  },
  '.withResponse() and .asResponse(), streamed': {
    run: async ({ openai, observe, texts }) => {
      const client = await openai();
      const { data, response, request_id } = await client.chat.completions
        .create({ ...request, stream: true })
        .withResponse();
      observe('with', { response, request_id, class: data.constructor.name });
      observe('texts', await texts(data));
      const raw = await client.chat.completions.create({ ...request, stream: true }).asResponse();
      observe('as', raw);
      const reader = raw.body.getReader();
      let size = 0;
      for (let part = await reader.read(); !part.done; part = await reader.read()) size += part.value.length;
      observe('size', size);
    },
  },
  'a response cloned by the program': {
    run: async ({ openai, observe }) => {
      const response = await (await openai()).chat.completions.create(request).asResponse();
      const copy = response.clone();
      observe('copy', await copy.json());
      observe('original', await response.text());
    },
  },
  'chat.completions.parse()': {
    run: async ({ openai, observe, load }) => {
      const { zodResponseFormat } = await load('openai/helpers/zod');
      const { z } = await load('zod');
      const client = await openai();
      const format = zodResponseFormat(z.object({ city: z.string(), days: z.number() }), 'trip');
      observe('parsed', await client.chat.completions.parse({ ...request, response_format: format }));
    },
  },
  runTools: {
    run: async ({ openai, observe }) => {
      const client = await openai();
      const tool = {
        ...weather,
        function: {
          ...weather.function,
          parse: JSON.parse,
          function: ({ city }) => {
            observe('tool', city);
            return { city, sky: 'clear' };
          },
        },
      };
      const question = [{ role: 'user', content: 'How is the weather in Oslo and Rome?' }];
      const runner = client.chat.completions.runTools({ model: 'gpt-test', messages: question, tools: [tool] });
      runner.on('message', (message) => observe('message', message));
      observe('content', await runner.finalContent());
    },
  },
  '401, plain and streamed': {
    sample: true,
    run: async ({ openai, failing }) => {
      const client = await openai({ apiKey: 'sk-wrong' });
      await failing('plain', () => client.chat.completions.create(request));
      await failing('streamed', () => client.chat.completions.create({ ...request, stream: true }));
      await failing('withResponse', () => client.chat.completions.create(request).withResponse());
    },
  },
  '404 of a model': {
    run: async ({ openai, failing }) => {
      await failing('404', async () => (await openai()).chat.completions.create({ ...request, model: 'nonexistent' }));
    },
  },
  'a retry after 429': {
    script: 'status=429,times=2,retry-after-ms=1',
    calls: 1,
    // The SDK lets go of a refused answer's body, which may be there whole by then.
    endings: [REFUSED, REFUSED, 'complete/200'],
    sample: true,
    run: async (context) => context.observe('answer', await create(context, { maxRetries: 2 })),
  },
  'retries that run out': {
    script: 'status=500,retry-after-ms=1',
    calls: 1,
    run: async (context) => context.failing('failing', () => create(context, { maxRetries: 2 })),
  },
  'a retry after a reset': {
    script: 'reset,times=1',
    calls: 1,
    run: async (context) => context.observe('answer', await create(context, { maxRetries: 1 })),
  },
  'maxRetries: 0': {
    script: 'status=500',
    run: async (context) => context.failing('failing', () => create(context)),
  },
  'a reset, not retried': {
    script: 'reset',
    endings: ['reset/-'],
    run: async (context) => context.failing('failing', () => create(context)),
  },
  'a per-call timeout': {
    serve: silent,
    endings: ['timeout/-'],
    run: async (context) => {
      const { completions } = (await context.openai()).chat;
      hastenTimer(context, 300_123);
      await context.failing('failing', () => completions.create(request, { timeout: 300_123 }));
    },
  },
  'AbortSignal.timeout': {
    serve: silent,
    endings: ['timeout/-'],
    run: async (context) => {
      const controller = new AbortController();
      // Bound, so that no frame of the program stands between the timer and the abort.
      const abort = controller.abort.bind(controller);
      onArrival(context, () => AbortSignal.timeout(10).addEventListener('abort', abort));
      await context.failing('failing', () => create(context, {}, { signal: controller.signal }));
    },
  },
  'an abort before the head': {
    serve: silent,
    endings: ['caller_abort/-'],
    run: async (context) => {
      const controller = new AbortController();
      void context.until('arrived0').then(() => controller.abort());
      await context.failing('failing', () => create(context, {}, { signal: controller.signal }));
    },
  },
  'a signal that is aborted already': {
    calls: 0,
    run: async (context) =>
      context.failing('failing', () => create(context, {}, { signal: AbortSignal.abort(new Error('no')) })),
  },
  'nobody listens at the port': {
    calls: 1,
    endings: ['connect_failed/-'],
    offWire: () => true,
    run: async (context) => {
      const { port } = await closedPort();
      const baseURL = `http://127.0.0.1:${port}/v1`;
      await context.failing('failing', () => create(context, { baseURL }));
    },
  },
  'responses, plain and parsed': {
    run: async ({ openai, observe, load }) => {
      const { zodTextFormat } = await load('openai/helpers/zod');
      const { z } = await load('zod');
      const client = await openai();
      observe('plain', await client.responses.create({ model: 'gpt-test', input: 'hello' }));
      const format = zodTextFormat(z.object({ city: z.string() }), 'trip');
      observe('parsed', await client.responses.parse({ model: 'gpt-test', input: 'hello', text: { format } }));
    },
  },
  'responses, streamed': {
    script: 'reasoning',
    run: async ({ openai, observe }) => {
      const client = await openai();
      for await (const event of await client.responses.create({ model: 'gpt-test', input: 'hello', stream: true }))
        observe('event', event);
      const helper = client.responses.stream({ model: 'gpt-test', input: 'hello' });
      helper.on('event', ({ type }) => observe('type', type));
      observe('final', await helper.finalResponse());
    },
  },
  'embeddings and models': {
    run: async ({ openai, observe }) => {
      const client = await openai();
      observe('embeddings', await client.embeddings.create({ model: 'gpt-test', input: ['a', 'b'] }));
      for await (const model of client.models.list()) observe('model', model);
    },
  },
  'a file upload': {
    serve: (_request, response, { body }) =>
      json(response, JSON.stringify({ id: 'file-1', bytes: body.length - 2 * boundaryOf(body), filename: 'a.jsonl' })),
    run: async ({ openai, observe, load }) => {
      const { toFile } = await load('openai');
      const client = await openai();
      const bytes = Buffer.alloc(300_000, '{"a":"Grüße"}\n');
      observe('file', await client.files.create({ purpose: 'batch', file: await toFile(bytes, 'a.jsonl') }));
    },
  },
  'a file downloaded': {
    serve: (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/octet-stream' })
        .end(Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7919) % 256))),
    run: async ({ openai, observe }) => {
      const response = await (await openai()).files.content('file-1');
      observe('response', response);
      observe('bytes', await response.arrayBuffer());
    },
  },
  'an unhandled rejection': {
    script: 'status=400',
    throws: true,
    code: 1,
    natural: false,
    run: async ({ openai, observe, until }) => {
      const client = await openai();
      const failed = client.chat.completions.create(request).then((answer) => observe('answer', answer));
      observe('promise', failed);
      // What comes after it never happens.
      await until('never');
    },
  },
  'an unhandled rejection that is listened for': {
    script: 'status=400',
    run: async ({ openai, observe }) => {
      const seen = new Promise((resolve) => {
        process.on('unhandledRejection', (reason, promise) => {
          observe('unhandled', { reason, class: promise.constructor.name });
          resolve();
        });
      });
      void (await openai()).chat.completions.create(request).then((answer) => observe('answer', answer));
      await seen;
    },
  },
  'an uncaught exception in mid-stream': {
    serve: twoFrames,
    throws: true,
    code: 1,
    natural: false,
    endings: ['process_exit/200'],
    deviations: [
      {
        label: 'stderr',
        why: 'stack traces have a frame of async_hooks at their end, since AsyncLocalStorage is built on it',
        on: (major) => major < 24,
      },
    ],
    run: async ({ openai, observe }) => {
      const stream = await (await openai()).chat.completions.create({ ...request, stream: true });
      for await (const chunk of stream) {
        observe('chunk', chunk);
        setImmediate(() => {
          throw new TypeError('a mistake of the program');
        });
      }
    },
  },
  'process.exit in mid-stream': {
    serve: twoFrames,
    code: 7,
    natural: false,
    endings: ['process_exit/200'],
    run: async ({ openai, observe }) => {
      const stream = await (await openai()).chat.completions.create({ ...request, stream: true });
      for await (const chunk of stream) {
        observe('chunk', chunk);
        process.exit(7);
      }
    },
  },
  'raw client.post': {
    serve: (_request, response) => json(response, completion('raw')),
    run: async ({ openai, observe }) => {
      observe('post', await (await openai()).post(CHAT.slice(3), { body: JSON.parse(chatBody) }));
    },
  },
};

/** How long the boundary of a multipart body is. */
const boundaryOf = (body) => body.indexOf('\r\n');

async function closedPort() {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return { port };
}
