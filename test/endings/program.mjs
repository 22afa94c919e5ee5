/**
 * A program that uses the `openai` SDK in one way and prints, as its last line, what it got: the result or everything
 * that can be seen of the error. It knows nothing of Orangebox. Arguments: way of use, base
 * URL.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// Older versions of the SDK are installed beside test programs of their own.
const from = process.env.OPENAI_FROM ?? import.meta.url;
const { default: OpenAI } = await import(pathToFileURL(createRequire(from).resolve('openai')).href);

const [use, baseURL] = process.argv.slice(2);
const messages = [{ role: 'user', content: 'hello' }];
const client = (options = {}) => new OpenAI({ apiKey: 'sk-test', baseURL, maxRetries: 0, ...options });
const create = (options, ...rest) => client(options).chat.completions.create({ model: 'gpt-test', messages }, ...rest);
const stream = (options, ...rest) =>
  client(options).chat.completions.create({ model: 'gpt-test', messages, stream: true }, ...rest);

/** Waits until the provider says that something happened to this run. */
const when = (what) =>
  fetch(new URL(`/when/${what}/${baseURL.split('/')[4]}`, baseURL)).then((response) => response.text());

const texts = async (chunks, got) => {
  for await (const chunk of chunks) got.push(chunk.choices[0]?.delta.content ?? null);
  return got;
};

const uses = {
  plain: () => create(),
  retried: () => create({ maxRetries: 2 }),
  stream: async () => texts(await stream(), []),
  timeout: () => create({ timeout: 1000 }),
  'timeout-retried': () => create({ timeout: 500, maxRetries: 1 }),
  'abort-before-head': () => {
    const controller = new AbortController();
    void when('arrived').then(() => controller.abort());
    return create({}, { signal: controller.signal });
  },
  'abort-signal-timeout': () => create({}, { signal: AbortSignal.timeout(1000) }),
  'aborted-already': () => create({}, { signal: AbortSignal.abort() }),
  'abort-in-stream': async () => {
    const controller = new AbortController();
    const got = [];
    for await (const chunk of await stream({}, { signal: controller.signal })) {
      got.push(chunk.choices[0]?.delta.content);
      controller.abort();
    }
    return got;
  },
  break: async () => {
    const got = [];
    for await (const chunk of await stream()) {
      got.push(chunk.choices[0]?.delta.content);
      break;
    }
    return got;
  },
  'fetch-break': async () => {
    const response = await fetch(`${baseURL}/chat/completions`, { method: 'POST', body: JSON.stringify({ messages }) });
    let size = 0;
    for await (const bytes of response.body) {
      size = bytes.length > 0 ? 1 : 0;
      break;
    }
    return size;
  },
  'fetch-cancel': async () => {
    const response = await fetch(`${baseURL}/chat/completions`, { method: 'POST', body: JSON.stringify({ messages }) });
    const reader = response.body.getReader();
    await reader.read();
    await reader.cancel();
    return 'cancelled';
  },
  'never-read': async () => {
    await stream();
    // The buffers are full; the end of the process is what ends the exchange.
    await when('stalled');
    return finish({ value: 'left unread' });
  },
  'never-read-to-the-end': async () => {
    await stream();
    await when('stalled');
    return 'left unread';
  },
  exit: async () => finish({ value: await create() }),
  'exit-in-stream': async () => {
    for await (const chunk of await stream()) finish({ value: chunk.choices[0]?.delta.content });
  },
  /** Takes leave in its own time when it is asked to end: between the attempts of a call. */
  'signalled-between': () => {
    process.once('SIGTERM', () => process.stdout.write('ending soon\n'));
    const answer = create({ maxRetries: 2 });
    void when('answered').then(() => setTimeout(() => process.kill(process.pid, 'SIGTERM'), 50));
    return answer;
  },
  parallel: async () => {
    const [a, b] = await Promise.all([create({ maxRetries: 2 }), create({ maxRetries: 2 })]);
    return [a, b];
  },
};

function finish(outcome) {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
  process.exit(0);
}

/** Everything of an error that a program can see, its place in files aside. */
function describe(error, depth = 0) {
  if (typeof error !== 'object' || error === null || depth > 5) return { value: String(error) };
  const own = {};
  for (const key of Reflect.ownKeys(error)) {
    if (key === 'stack' || key === 'cause') continue;
    const value = error[key];
    own[String(key)] = key === 'headers' ? undated(value) : value;
  }
  return {
    name: error.name,
    class: error.constructor?.name,
    text: String(error),
    own: JSON.parse(JSON.stringify(own, (_key, value) => (typeof value === 'function' ? 'function' : value)) ?? 'null'),
    stackHead: String(error.stack).split('\n', 1)[0],
    ...('cause' in error ? { cause: describe(error.cause, depth + 1) } : {}),
  };
}

/** Headers, of either kind, without the time of the answer. */
function undated(headers) {
  if (headers instanceof Headers) return [...headers].filter(([name]) => name !== 'date');
  return typeof headers === 'object' ? { ...headers, date: undefined } : headers;
}

try {
  const value = await uses[use]();
  process.stdout.write(`${JSON.stringify({ value })}\n`);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: describe(error) })}\n`);
}
