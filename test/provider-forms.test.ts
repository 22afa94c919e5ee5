/** The bundled provider invents its texts but not its forms: every key, type and order of events was seen in recorded traffic. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasCorpus, loadCorpus, type RecordedExchange } from './corpus/load.mjs';
import { type Provider, startProvider } from './fixtures/provider/server.mjs';
import { addShape, eventsOf, transitionsOf } from './helpers/shape.ts';

/** What a caller put in comes back as it was; its shape says nothing about the service's forms. */
const opaque = ['.tools', '.metadata', '.text.format', '.tool_choice'];

/** In the published API description, but not among the recordings. */
const notRecorded = [/refusal/, /^\$\.type=error/, /response\.refusal/];

interface Form {
  shape: Set<string>;
  order: Set<string>;
}

const kindOf = (data: string, name: string | undefined): string => {
  if (data === '[DONE]') return '[DONE]';
  const value = JSON.parse(data) as { type?: string; choices?: { delta?: object }[] };
  if (value.type !== undefined) return value.type;
  const delta = value.choices?.[0]?.delta;
  if (name !== undefined) return name;
  return delta === undefined ? 'chunk' : Object.keys(delta).sort().join('+') || 'empty';
};

/** Shape and order of one answer; events of the responses API have one shape per type. */
function formOf(text: string, stream: boolean, into: Form): void {
  if (!stream) {
    addShape(JSON.parse(text), into.shape, opaque);
    return;
  }
  const events = eventsOf(text);
  for (const { data } of events) {
    if (data === '[DONE]') continue;
    const value = JSON.parse(data) as { type?: string };
    addShape(value, into.shape, opaque, `$${value.type === undefined ? '' : `<${value.type}>`}`);
  }
  for (const pair of transitionsOf(events.map((e) => kindOf(e.data, e.name)))) into.order.add(pair);
}

/** All forms of one API among recordings of the service itself and of those that copy it exactly. */
function recordedForms(corpus: RecordedExchange[], api: string, stream: boolean, ok: boolean): Form {
  const form: Form = { shape: new Set(), order: new Set() };
  for (const { response, api: recordedApi, stream: recordedStream } of corpus) {
    if (!/^(azure-)?openai\./.test(recordedApi) || (ok && !recordedApi.endsWith(`.${api}`))) continue;
    if ((response.status === 200) !== ok || (recordedStream !== stream && ok)) continue;
    const text = response.body_text ?? '';
    if (ok ? response.body_kind !== (stream ? 'sse' : 'json') : !text.trimStart().startsWith('{')) continue;
    try {
      formOf(text, stream && ok, form);
    } catch {
      // A few recordings end in the middle; the others tell the form.
    }
  }
  return form;
}

const tools = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
];
const flatTools = tools.map((t) => ({ type: 'function', ...t.function, strict: false }));
const question = 'Compare the weather in Lisbon and Oslo.';
const messages = [{ role: 'user', content: question }];

const requests: { name: string; api: string; path: string; body: object; script?: string }[] = [
  { name: 'a chat answer', api: 'chat', path: '/v1/chat/completions', body: { model: 'orange-1', messages } },
  {
    name: 'parallel tool calls',
    api: 'chat',
    path: '/v1/chat/completions',
    body: { model: 'orange-1', messages, tools },
  },
  { name: 'several choices', api: 'chat', path: '/v1/chat/completions', body: { model: 'orange-1', messages, n: 2 } },
  {
    name: 'a streamed chat answer with usage',
    api: 'chat',
    path: '/v1/chat/completions',
    body: { model: 'orange-1', messages, stream: true, stream_options: { include_usage: true } },
  },
  {
    name: 'streamed parallel tool calls',
    api: 'chat',
    path: '/v1/chat/completions',
    body: { model: 'orange-1', messages, tools, stream: true },
  },
  { name: 'a response', api: 'responses', path: '/v1/responses', body: { model: 'orange-1', input: question } },
  {
    name: 'a response with parallel tool calls and reasoning',
    api: 'responses',
    path: '/v1/responses',
    body: { model: 'orange-1', input: question, tools: flatTools },
    script: 'reasoning',
  },
  {
    name: 'a streamed response with reasoning',
    api: 'responses',
    path: '/v1/responses',
    body: { model: 'orange-1', input: question, stream: true },
    script: 'reasoning',
  },
  {
    name: 'a streamed response with parallel tool calls',
    api: 'responses',
    path: '/v1/responses',
    body: { model: 'orange-1', input: question, tools: flatTools, stream: true },
  },
  { name: 'embeddings', api: 'embeddings', path: '/v1/embeddings', body: { model: 'e', input: ['a', 'b'] } },
  {
    name: 'embeddings in base64',
    api: 'embeddings',
    path: '/v1/embeddings',
    body: { model: 'e', input: 'a', encoding_format: 'base64' },
  },
  { name: 'a completion', api: 'completions', path: '/v1/completions', body: { model: 'c', prompt: 'Once', n: 2 } },
  {
    name: 'a streamed completion',
    api: 'completions',
    path: '/v1/completions',
    body: { model: 'c', prompt: 'Once', stream: true },
  },
  ...[400, 401, 404, 429, 500].map((status) => ({
    name: `status ${status}`,
    api: 'error',
    path: '/v1/chat/completions',
    body: { model: 'orange-1', messages },
    script: `status=${status}`,
  })),
];

describe.skipIf(!hasCorpus())('the bundled provider has only forms that were recorded', () => {
  let provider: Provider;
  let corpus: RecordedExchange[];
  beforeAll(async () => {
    corpus = loadCorpus();
    provider = await startProvider();
  });
  afterAll(() => provider.close());

  it.each(requests)('$name', async ({ api, path, body, script }) => {
    const answer = await fetch(provider.url + path, {
      method: 'POST',
      headers: {
        authorization: 'Bearer sk-test-0123456789',
        'content-type': 'application/json',
        ...(script !== undefined && { 'x-provider-script': script }),
      },
      body: JSON.stringify(body),
    });
    const stream = 'stream' in body;
    const own: Form = { shape: new Set(), order: new Set() };
    formOf(await answer.text(), stream && api !== 'error', own);
    const recorded = recordedForms(corpus, api, stream, api !== 'error');
    const unseen = (mine: Set<string>, theirs: Set<string>): string[] =>
      [...mine].filter((form) => !theirs.has(form) && !notRecorded.some((pattern) => pattern.test(form)));
    expect({ shape: unseen(own.shape, recorded.shape), order: unseen(own.order, recorded.order) }).toEqual({
      shape: [],
      order: [],
    });
    expect(own.shape.size).toBeGreaterThan(3);
  });
});
