/**
 * Compares the parsed view with the official SDK's own final object: every exchange of an OpenAI API is served from a local server
 * to the real `openai`, which reads it plain or streamed; `describeCall` reads the same bytes.
 */
import { isDeepStrictEqual } from 'node:util';
import OpenAI from 'openai';
import { EXCHANGE_HEADER } from './exchange.mjs';
import { bodyBytes } from './load.mjs';
import { startCorpusServer } from './server.mjs';
import { table } from './table.mjs';
import { decodeContent, exchangeOf } from './views.mjs';

/** The API that an exchange belongs to and that the SDK has a method for; undefined for others. */
export function sdkApiOf({ request, response }) {
  const path = request.path.replace(/[?#].*$/, '');
  if (request.method === 'GET' && /\/responses\/resp_[^/]+$/.test(path)) return 'retrieve';
  if (request.method !== 'POST') return undefined;
  if (path.endsWith('/responses/compact')) return 'compact';
  if (path.endsWith('/chat/completions')) return 'chat';
  if (path.endsWith('/responses')) return 'responses';
  if (path.endsWith('/embeddings') && !path.endsWith('/api/embeddings')) return 'embeddings';
  if (path.endsWith('/completions')) {
    return (response.body_text ?? '').includes('"chat.completion') ? undefined : 'completions';
  }
  return undefined;
}

const suffix = {
  retrieve: '/responses/',
  compact: '/responses/compact',
  chat: '/chat/completions',
  responses: '/responses',
  embeddings: '/embeddings',
  completions: '/completions',
};
const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** Calls the SDK; gives its final object and, for streams, the events that it yields. */
async function callSdk(client, api, body, stream) {
  if (!stream) {
    const { stream: _stream, ...params } = body;
    if (api === 'retrieve') return { final: await client.responses.retrieve(body.id) };
    if (api === 'compact') return { final: await client.responses.compact(params) };
    if (api === 'chat') return { final: await client.chat.completions.create(params) };
    if (api === 'responses') return { final: await client.responses.create(params) };
    if (api === 'completions') return { final: await client.completions.create(params) };
    return { final: await client.embeddings.create({ encoding_format: 'float', ...params }) };
  }
  const events = [];
  if (api === 'retrieve') {
    for await (const event of await client.responses.retrieve(body.id, { stream: true })) events.push(event);
    return { events, final: await client.responses.stream({ response_id: body.id }).finalResponse() };
  }
  const create = { chat: client.chat.completions, responses: client.responses, completions: client.completions }[api];
  for await (const event of await create.create({ ...body, stream: true })) events.push(event);
  if (api === 'completions') return { events };
  const { stream: _stream, ...params } = body;
  if (api === 'chat') return { events, final: await client.chat.completions.stream(params).finalChatCompletion() };
  return { events, final: await client.responses.stream(params).finalResponse() };
}

/** The SDK makes up ids for tool calls that come without one. */
function withoutMadeUpIds(final, other) {
  for (const [c, choice] of (final?.choices ?? []).entries()) {
    for (const [t, call] of (choice.message?.tool_calls ?? []).entries()) {
      const own = other?.choices?.[c]?.message?.tool_calls?.[t];
      if (own !== undefined && !own.id) call.id = own.id;
    }
  }
  return final;
}

async function compareOne(exchange, api, server, describeCall) {
  const { request, response } = exchange;
  const stream = response.body_kind === 'sse';
  const url = new URL(request.path, 'http://corpus.invalid');
  const prefix = url.pathname.slice(0, url.pathname.lastIndexOf(suffix[api]));
  const client = new OpenAI({
    apiKey: 'unused',
    baseURL: server.url + prefix,
    defaultQuery: Object.fromEntries(url.searchParams),
    defaultHeaders: { [EXCHANGE_HEADER]: String(exchange.n) },
    maxRetries: 0,
    logLevel: 'off',
  });
  const text = bodyBytes(request).toString('utf8');
  const body =
    text === ''
      ? { model: exchange.model ?? 'unknown', ...(api === 'responses' ? { input: 'x' } : { messages: [] }) }
      : JSON.parse(text);
  if (api === 'retrieve') body.id = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  let sdk;
  try {
    sdk = await callSdk(client, api, body, stream);
  } catch (error) {
    sdk = { error };
  }
  const view = describeCall({ exchanges: [exchangeOf(exchange)] }, decodeContent);
  return { stream, sdk, view };
}

/** Verdict on one exchange: `equal`, `different`, or `refused` where the SDK itself throws, with its reason. */
function judge({ stream, sdk, view }, exchange) {
  if (sdk.error !== undefined) {
    const { status, name, message } = sdk.error;
    const said =
      view.response.error !== undefined || view.response.choices.length > 0 || view.response.final !== undefined;
    return {
      verdict: 'refused',
      reason: status ? `HTTP ${status}` : `${name}: ${String(message).slice(0, 90)}`,
      said,
      id: exchange.id,
    };
  }
  if (stream && sdk.final === undefined) {
    const texts = new Map();
    for (const event of sdk.events)
      for (const c of event.choices ?? []) texts.set(c.index, (texts.get(c.index) ?? '') + c.text);
    const own = new Map(view.response.choices.map((c) => [c.index, c.message.text]));
    return { verdict: isDeepStrictEqual(own, texts) ? 'equal' : 'different', id: exchange.id };
  }
  const ours = plain(view.response.final);
  const theirs = withoutMadeUpIds(plain(sdk.final), ours);
  return { verdict: isDeepStrictEqual(ours, theirs) ? 'equal' : 'different', id: exchange.id, ours, theirs };
}

/** Runs all exchanges of the SDK's APIs. @returns rows by provider and API, differences, refusals */
export async function runSdkViews(exchanges, describeCall) {
  const server = await startCorpusServer(exchanges);
  const rows = new Map();
  const different = [];
  const refused = new Map();
  const count = (result, exchange, api) => {
    const key = `${api} ${exchange.response.body_kind === 'sse' ? 'streamed' : 'plain'}`;
    const row = rows.get(key) ?? { exchanges: 0, equal: 0, different: 0, refused: 0, refusedWithView: 0 };
    row.exchanges += 1;
    row[result.verdict] += 1;
    if (result.said) row.refusedWithView += 1;
    rows.set(key, row);
    if (result.verdict === 'different') different.push(result);
    if (result.verdict !== 'refused') return;
    const reason = `${key}: ${result.reason}`;
    refused.set(reason, [...(refused.get(reason) ?? []), result.id]);
  };
  try {
    const queue = [...exchanges];
    const worker = async () => {
      for (let exchange = queue.shift(); exchange !== undefined; exchange = queue.shift()) {
        const api = sdkApiOf(exchange);
        if (api !== undefined)
          count(judge(await compareOne(exchange, api, server, describeCall), exchange), exchange, api);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  } finally {
    await server.close();
  }
  return { rows, different, refused };
}

/** The rows of {@link runSdkViews} as text. */
export const viewsTable = (rows) =>
  table([
    ['parsed view against the SDK', 'exchanges', 'equal', 'different', 'the SDK refuses', 'view all the same'],
    ...[...rows].map(([name, r]) => [name, r.exchanges, r.equal, r.different, r.refused, r.refusedWithView]),
  ]);
