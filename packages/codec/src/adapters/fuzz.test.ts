import { createHash } from 'node:crypto';
import type { Exchange, Json } from '@orangebox/schema';
import { expect, test } from 'vitest';
import { encodeBody } from '../body.ts';
import { utf8 } from '../bytes.ts';
import { chainOf, toolResultsOf } from '../conversation.ts';
import { ConversationIndex } from '../conversation-index.ts';
import { compareSnapshots } from '../diff.ts';
import { confirmBody } from '../recognise.ts';
import { sseOf, testExchange } from '../testing.ts';
import { ToolJoins } from '../tool-joins.ts';
import { describeCall } from './index.ts';

const RUNS = 20_000;

/** A small generator, so that a failure can be run again. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const request: Json = {
  model: 'm',
  input: [
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
    { role: 'user', content: 'q' },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'q' },
        { type: 'tool_result', tool_use_id: 't', content: 'r' },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ],
  contents: [{ parts: [{ text: 'q' }, { functionResponse: { name: 'f', response: {} } }] }],
  tools: [{ type: 'function', strict: true, name: 'f', function: { name: 'f', strict: true } }],
  response_format: { type: 'json_schema' },
  prompt: ['a', 'b'],
  stream: true,
};

const answers: Json[] = [
  {
    id: 'a',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: [{ type: 'text', text: 'x' }],
          tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
        },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 1 },
  },
  {
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [
      { type: 'message', content: [{ type: 'output_text', text: 'x' }] },
      { type: 'reasoning', summary: [{ text: 's' }] },
    ],
    usage: { input_tokens_details: { cached_tokens: 1 } },
  },
  { object: 'list', data: [{ embedding: [1, 2] }, { embedding: 'AAAA' }] },
  { type: 'message', content: [{ type: 'tool_use', id: 't', input: {} }], usage: { input_tokens: 1 } },
  { candidates: [{ content: { parts: [{ text: 'x', thought: true }] } }], usageMetadata: { promptTokenCount: 1 } },
  { output: { message: { content: [{ toolUse: { input: {} } }] } }, usage: { inputTokens: 1 } },
  { error: { message: 'no', type: 't', code: 1 } },
  sseOf([
    {
      id: 'a',
      choices: [
        {
          index: 0,
          delta: {
            role: 'assistant',
            content: 'x',
            tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{' } }],
          },
          logprobs: { content: [{}] },
        },
      ],
    },
    {
      id: 'a',
      choices: [
        {
          index: 1,
          delta: { audio: { id: 'x', data: 'y' }, function_call: { name: 'f', arguments: '1' } },
          finish_reason: 'stop',
        },
      ],
    },
  ]),
  sseOf([
    { type: 'response.created', response: { id: 'r', output: [] } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'message', content: [{ type: 'output_text', text: '' }] },
    },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'x' },
    {
      type: 'response.output_text.annotation.added',
      output_index: 0,
      content_index: 0,
      annotation_index: 1,
      annotation: {},
    },
    {
      type: 'response.completed',
      response: { id: 'r', output: [{ type: 'function_call', arguments: '{}', name: 'f' }] },
    },
  ]),
  sseOf([
    { type: 'message_start', message: { content: [], usage: {} } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
    { type: 'message_delta', delta: {}, usage: {} },
  ]),
];

const paths = [
  'chat/completions',
  'responses',
  'embeddings',
  'completions',
  'messages',
  'm:generateContent',
  'model/m/converse',
  'api/chat',
  'rerank',
  'interactions',
];
const types = [
  'application/json',
  'text/event-stream',
  'application/vnd.amazon.eventstream',
  'multipart/form-data; boundary=b',
  '',
];
const scraps = [
  'null',
  '[]',
  '{}',
  '1e999',
  '-1',
  '"\\ud800"',
  '"__proto__"',
  '"constructor"',
  'true',
  '[[[[',
  '""',
  '\u0000',
  'data: ',
  '\n\n',
  '[DONE]',
  '99999999',
  '{"a":{"a":{"a":1}}}',
];

/** The text with some of its values, bytes or ends changed. */
function mutate(text: string, next: () => number): string {
  let out = text;
  for (let count = 1 + Math.floor(next() * 4); count > 0; count--) {
    const at = Math.floor(next() * out.length);
    const scrap = scraps[Math.floor(next() * scraps.length)] ?? '';
    const kind = next();
    if (kind < 0.5) {
      // A whole value or name for another, so that the JSON often stays JSON.
      const tokens = [...out.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+|null|true|\[\]|\{\}/g)];
      const token = tokens[Math.floor(next() * tokens.length)];
      if (token) out = out.slice(0, token.index) + scrap + out.slice(token.index + token[0].length);
    } else if (kind < 0.7) out = out.slice(0, at);
    else if (kind < 0.85) out = out.slice(0, at) + scrap + out.slice(at);
    else out = out.slice(0, at) + out.slice(at + Math.floor(next() * 20));
  }
  return out;
}

function fuzzed(next: () => number): Exchange {
  const pick = <T>(list: T[]): T => list[Math.floor(next() * list.length)] as T;
  const text = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const exchange = testExchange({
    url: next() < 0.02 ? mutate('https://a.test/v1/x', next) : `https://a.test/v1/${pick(paths)}`,
    method: next() < 0.05 ? 'GET' : 'POST',
    requestType: next() < 0.9 ? 'application/json' : pick(types),
    responseType: pick(types),
    status: next() < 0.8 ? 200 : 500,
  });
  exchange.request.body = encodeBody(utf8(mutate(text(request), next)));
  if (exchange.response) exchange.response.body = encodeBody(utf8(mutate(text(pick(answers)), next)));
  if (next() < 0.02) delete exchange.response;
  if (next() < 0.01) exchange.request.body = { form: 'base64', sizeBytes: 3, base64: '!' };
  return exchange;
}

test(`${RUNS} mutated calls never make an adapter, a chain or a comparison throw`, { timeout: 120_000 }, () => {
  const next = random(20_231);
  const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');
  const index = new ConversationIndex({ sha256, maxEntries: 50 });
  const joins = new ToolJoins();
  let before: Exchange | undefined;
  let described = 0;
  for (let run = 0; run < RUNS; run++) {
    const exchange = fuzzed(next);
    const { call, request: asked, response } = describeCall({ exchanges: [exchange] }, () => undefined);
    if (call.operation !== 'unknown') described++;
    chainOf(asked, response, sha256);
    toolResultsOf(asked);
    joins.answer(asked);
    joins.ask(String(run), response.toolCalls);
    index.match(asked);
    index.add({ id: String(run), session: 's' }, asked, response);
    JSON.stringify(response);
    if (exchange.request.body.form === 'text') confirmBody(utf8(exchange.request.body.text));
    if (before && run % 4 === 0) {
      const [left, right] = [before, exchange].map(
        (one) => ({ exchanges: [one] }) as Parameters<typeof compareSnapshots>[0],
      );
      if (left && right) compareSnapshots(left, right, () => undefined);
    }
    before = exchange;
  }
  expect(described).toBe(RUNS);
  expect(({} as { [key: string]: unknown })['polluted']).toBeUndefined();
});
