/** What is recognised of recorded traffic, and what should be. */
import { bodyBytes } from './load.mjs';
import { isMadeUp, requestOf } from './exchange.mjs';

/** APIs of the corpus that manage things or count, and call no model; GET and DELETE never do, but for polling a response. */
const notInference =
  /\.(?:files|assistants|conversations|cachedContents|count_tokens|countTokens|uploads|models|show|other)$/;

/** Whether the exchange is a call of a model. */
export function isInference({ api, request }) {
  if (request.method === 'GET') return api === 'openai.responses';
  return request.method === 'POST' && !notInference.test(api);
}

/** Verdict on one exchange, as a tap comes to it: by the head, then, where that is open, by the first body bytes. */
export function recognise(exchange, { recogniseRequest, confirmBody }) {
  const { method, path, headers } = requestOf(exchange);
  const type = headers.find(([name]) => name === 'content-type')?.[1];
  const verdict = recogniseRequest(method, exchange.request.origin + path, type);
  if (verdict !== 'maybe') return verdict;
  const body = isMadeUp(exchange) ? requestOf(exchange).body : bodyBytes(exchange.request);
  return confirmBody(body.subarray(0, 16_384)) ? 'llm by body' : 'no by body';
}

/** Counts by what an exchange is and what it was taken for, and those that were taken wrong. */
export function confusion(exchanges, codec) {
  const table = { inference: {}, other: {} };
  const wrong = [];
  for (const exchange of exchanges) {
    const truth = isInference(exchange) ? 'inference' : 'other';
    const verdict = recognise(exchange, codec);
    table[truth][verdict] = (table[truth][verdict] ?? 0) + 1;
    if (verdict.startsWith('llm') !== (truth === 'inference'))
      wrong.push({ id: exchange.id, api: exchange.api, verdict });
  }
  return { table, wrong };
}
