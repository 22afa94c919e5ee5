import { createHash } from 'node:crypto';
import type { Json } from '@orangebox/schema';
import { describe, expect, test } from 'vitest';
import { describeCall } from './adapters/index.ts';
import { chainOf, toolResultsOf } from './conversation.ts';
import { type CallPlace, type Continuation, ConversationIndex } from './conversation-index.ts';
import { testExchange } from './testing.ts';

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

const user = (content: Json): Json => ({ role: 'user', content });
const call = (id: string, args = '{"city":"Ulm"}'): Json => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: args },
});
const chat = (
  messages: Json,
  message: Json = { role: 'assistant', content: 'ok' },
  more: { [key: string]: Json } = {},
): ReturnType<typeof describeCall> =>
  describeCall(
    {
      exchanges: [
        testExchange({
          request: { model: 'm', messages, ...more },
          response: { id: 'x', choices: [{ index: 0, message }] },
        }),
      ],
    },
    () => undefined,
  );
const responses = (
  body: { [key: string]: Json },
  answer: { [key: string]: Json } = {},
): ReturnType<typeof describeCall> =>
  describeCall(
    {
      exchanges: [
        testExchange({
          url: 'https://a.test/v1/responses',
          request: { model: 'm', ...body },
          response: { object: 'response', output: [], ...answer },
        }),
      ],
    },
    () => undefined,
  );

/** Feeds calls in order; gives for each its session and how that was found. */
function sessionsOf(
  calls: ReturnType<typeof describeCall>[],
  places: CallPlace[] = [],
): { session: string; found: Continuation }[] {
  const index = new ConversationIndex({ sha256 });
  return calls.map(({ request, response }, i) => {
    const place = places[i] ?? {};
    const found = index.match(request, place);
    const session = found.kind === 'continues' ? found.call.session : `s${i}`;
    index.add({ id: String(i), session, ...place }, request, response);
    return { session, found };
  });
}

describe('a call continues the one whose answer it sends back', () => {
  const first = chat([{ role: 'system', content: 'Now it is 10:00' }, user('Weather in Ulm?')], {
    role: 'assistant',
    content: null,
    refusal: null,
    annotations: [],
    tool_calls: [call('call_abcdefgh12')],
  });
  const result: Json = { role: 'tool', tool_call_id: 'call_abcdefgh12', content: 'rain' };
  const answers: [how: string, message: Json, question?: Json][] = [
    [
      'as it was',
      { role: 'assistant', content: null, refusal: null, annotations: [], tool_calls: [call('call_abcdefgh12')] },
    ],
    ['without null members', { role: 'assistant', tool_calls: [call('call_abcdefgh12')] }],
    ['with an empty text', { tool_calls: [call('call_abcdefgh12')], content: '', role: 'assistant' }],
    [
      'with arguments serialised anew',
      { role: 'assistant', tool_calls: [call('call_abcdefgh12', '{ "city" : "Ulm" }')] },
    ],
    ['with reasoning', { role: 'assistant', reasoning_content: 'hm', tool_calls: [call('call_abcdefgh12')] }],
    [
      'with parts for a string',
      { role: 'assistant', tool_calls: [call('call_abcdefgh12')] },
      [{ type: 'text', text: 'Weather in Ulm?' }],
    ],
  ];
  test.each(answers)('%s', (_how, message, question = 'Weather in Ulm?') => {
    const second = chat([{ role: 'system', content: 'Now it is 10:05' }, user(question), message, result]);
    const [, next] = sessionsOf([first, second]);
    expect(next?.found).toMatchObject({ kind: 'continues', by: 'answer', fork: false });
    expect(chainOf(second.request, second.response, sha256).before).toBe(
      chainOf(first.request, first.response, sha256).after,
    );
  });

  test('in responses items, with ids and status added, reasoning dropped and provider tools moved', () => {
    const output: Json[] = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Looking.', annotations: [], logprobs: [] }],
      },
      {
        type: 'function_call',
        id: 'fc_1',
        status: 'completed',
        call_id: 'call_abcdefgh12',
        name: 'f',
        arguments: '{"a":1}',
      },
    ];
    const begun = responses({ input: 'q' }, { id: 'resp_a', status: 'completed', output });
    const input: Json[] = [
      { role: 'user', content: [{ type: 'input_text', text: 'q' }] },
      { role: 'assistant', content: 'Looking.' },
      { type: 'function_call', call_id: 'call_abcdefgh12', name: 'f', arguments: '{"a": 1}' },
      { type: 'web_search_call', id: 'ws_1', action: { query: 'other form' } },
      { type: 'function_call_output', call_id: 'call_abcdefgh12', output: 'r' },
    ];
    const [, next] = sessionsOf([begun, responses({ input })]);
    expect(next?.found).toMatchObject({ kind: 'continues', by: 'answer' });
  });

  test('with only one of several tool calls, other ids where those mean nothing, or thoughts in tags', () => {
    const two = chat([user('q')], {
      role: 'assistant',
      tool_calls: [call('call_one_1234'), call('call_two_1234', '{"city":"Bonn"}')],
    });
    const onlyTwo = chat([
      user('q'),
      { role: 'assistant', tool_calls: [call('call_two_1234', '"Bonn"')] },
      user('more'),
    ]);
    expect(sessionsOf([two, onlyTwo])[1]?.found).toMatchObject({ kind: 'continues', by: 'part_of_answer' });

    const noId = chat([user('q')], { role: 'assistant', tool_calls: [call('call_0')] });
    const madeUp = chat([user('q'), { role: 'assistant', tool_calls: [call('framework-made-up-id')] }]);
    expect(sessionsOf([noId, madeUp])[1]?.found).toMatchObject({ kind: 'continues', by: 'part_of_answer' });

    const thought = chat([user('q')], { role: 'assistant', content: 'Yes.', reasoning: 'hm' });
    const tagged = chat([user('q'), { role: 'assistant', content: '<think>\nhm\n</think>\n\nYes.' }, user('why?')]);
    expect(sessionsOf([thought, tagged])[1]?.found).toMatchObject({ kind: 'continues', by: 'answer' });
  });

  test('any of several choices', () => {
    const begun = describeCall(
      {
        exchanges: [
          testExchange({
            request: { messages: [user('q')] },
            response: {
              choices: [
                { index: 0, message: { content: 'a' } },
                { index: 1, message: { content: 'b' } },
              ],
            },
          }),
        ],
      },
      () => undefined,
    );
    expect(sessionsOf([begun, chat([user('q'), { role: 'assistant', content: 'b' }, user('go')])])[1]?.session).toBe(
      's0',
    );
  });
});

describe('a call that names what it continues', () => {
  test('continues that response', () => {
    const [, second, third] = sessionsOf([
      responses({ input: 'a' }, { id: 'resp_1' }),
      responses({ input: 'b', previous_response_id: 'resp_1' }, { id: 'resp_2' }),
      responses({ input: 'c', previous_response_id: 'resp_1' }, { id: 'resp_3' }),
    ]);
    expect(second).toMatchObject({ session: 's0', found: { by: 'response_id', fork: false } });
    expect(third).toMatchObject({ session: 's0', found: { fork: true } });
  });

  test('continues the last call of that conversation', () => {
    const calls = ['a', 'b', 'c'].map((input, i) => responses({ input, conversation: 'conv_1' }, { id: `resp_${i}` }));
    const found = sessionsOf(calls);
    expect(found.map(({ session }) => session)).toEqual(['s0', 's0', 's0']);
    expect(found[2]?.found).toMatchObject({ call: { id: '1' }, by: 'conversation_id', fork: false });
  });

  test('by polling takes its answer into the conversation', () => {
    const queued = responses({ input: 'q', background: true }, { id: 'resp_1', status: 'queued' });
    const done = {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'late' }] }],
    };
    const polled = describeCall(
      { exchanges: [testExchange({ method: 'GET', url: 'https://a.test/v1/responses/resp_1', response: done })] },
      () => undefined,
    );
    const next = responses({ input: [user('q'), { role: 'assistant', content: 'late' }, user('thanks')] });
    expect(sessionsOf([queued, polled, next]).map(({ session }) => session)).toEqual(['s0', 's0', 's0']);
  });
});

describe('calls that are alike', () => {
  const begun = (): ReturnType<typeof describeCall> => chat([user('hi')], { role: 'assistant', content: 'Hello!' });
  const next = (): ReturnType<typeof describeCall> =>
    chat([user('hi'), { role: 'assistant', content: 'Hello!' }, user('more')]);

  test('are told apart by context, then by trace', () => {
    const [a, b] = [{ context: 1 }, { context: 2 }];
    expect(sessionsOf([begun(), begun(), next(), next()], [a, b, b, a]).map(({ session }) => session)).toEqual([
      's0',
      's1',
      's1',
      's0',
    ]);
    const [c, d] = [{ traceId: 'c' }, { traceId: 'd' }];
    expect(sessionsOf([begun(), begun(), next(), next()], [c, d, d, c]).map(({ session }) => session)).toEqual([
      's0',
      's1',
      's1',
      's0',
    ]);
  });

  test('are told apart by whether somebody went on already', () => {
    expect(sessionsOf([begun(), next(), begun(), next()]).map(({ session }) => session)).toEqual([
      's0',
      's0',
      's2',
      's2',
    ]);
  });

  test('with nothing to tell them apart are ambiguous, and a session of their own', () => {
    const found = sessionsOf([begun(), begun(), next()]);
    expect(found[2]).toMatchObject({ session: 's2', found: { kind: 'ambiguous' } });
  });

  test('but of another run with ids of its own are not continued', () => {
    const first = chat([user('q')], { role: 'assistant', tool_calls: [call('call_first_run_1')] });
    const other = chat([
      user('q'),
      { role: 'assistant', tool_calls: [call('call_other_run_2')] },
      { role: 'tool', tool_call_id: 'call_other_run_2', content: 'x' },
    ]);
    expect(sessionsOf([first, other])[1]?.found.kind).toBe('new');
  });
});

test('a request whose answer was rewritten continues it under the same system prompt, tools and target only', () => {
  const begun = (system: string): ReturnType<typeof describeCall> =>
    chat([{ role: 'system', content: system }, user('act')], { role: 'assistant', content: 'Action: look' });
  const next = (system: string): ReturnType<typeof describeCall> =>
    chat([
      { role: 'system', content: system },
      user('act'),
      { role: 'assistant', content: 'Action: look\nObservation: a tree' },
    ]);
  expect(sessionsOf([begun('a'), next('a')])[1]?.found).toMatchObject({ kind: 'continues', by: 'request' });
  expect(sessionsOf([begun('a'), next('b')])[1]?.found.kind).toBe('new');
  expect(sessionsOf([begun('a'), next('a')], [{ target: 'x' }, { target: 'y' }])[1]?.found.kind).toBe('new');
});

test('two continuations of one call are a fork of one session', () => {
  const begun = chat([user('hi')], { role: 'assistant', content: 'Hello!' });
  const branch = (text: string): ReturnType<typeof describeCall> =>
    chat([user('hi'), { role: 'assistant', content: 'Hello!' }, user(text)]);
  const found = sessionsOf([begun, branch('a'), branch('b')]);
  expect(found.map(({ session }) => session)).toEqual(['s0', 's0', 's0']);
  expect(found[2]?.found).toMatchObject({ fork: true });
});

test('embeddings and the like have no chain', () => {
  const { request, response } = describeCall(
    {
      exchanges: [
        testExchange({
          url: 'https://a.test/v1/embeddings',
          request: { model: 'e', input: 'x' },
          response: { data: [] },
        }),
      ],
    },
    () => undefined,
  );
  expect(chainOf(request, response, sha256)).toEqual({});
});

test('the index forgets its oldest calls', () => {
  const index = new ConversationIndex({ sha256, maxEntries: 2 });
  for (const [i, text] of ['a', 'b', 'c'].entries()) {
    const { request, response } = chat([user(text)]);
    index.add({ id: String(i), session: text }, request, response);
  }
  expect(index.size).toBe(2);
  const next = (text: string): Continuation =>
    index.match(chat([user(text), { role: 'assistant', content: 'ok' }, user('go')]).request);
  expect([next('a').kind, next('c').kind]).toEqual(['new', 'continues']);
});

test('tool results of a request stand in order', () => {
  const { request } = chat([
    { role: 'tool', tool_call_id: 'a', content: '1' },
    user('x'),
    { role: 'tool', tool_call_id: 'b', content: '2' },
  ]);
  expect(toolResultsOf(request)).toEqual([
    { callId: 'a', content: '1' },
    { callId: 'b', content: '2' },
  ]);
});
