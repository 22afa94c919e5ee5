import type { Json } from '@orangebox/schema';
import { describe, expect, test } from 'vitest';
import { sseOf, testExchange, type TestExchange } from '../testing.ts';
import { describeCall } from './index.ts';

const view = (parts: TestExchange): ReturnType<typeof describeCall> =>
  describeCall({ exchanges: [testExchange(parts)] }, () => undefined);

const chunk = (choices: Json, more: { [key: string]: Json } = {}): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 5,
  model: 'm-1',
  choices,
  ...more,
});

const streamed = (
  chunks: Json[],
  request: Json = { model: 'm', messages: [], stream: true },
): ReturnType<typeof view> => view({ request, response: sseOf(chunks), responseType: 'text/event-stream' });

describe('a chat request', () => {
  const { call, request } = view({
    url: 'https://api.groq.com/openai/v1/chat/completions',
    request: {
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"x":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'a pear' },
      ],
      tools: [{ type: 'function', function: { name: 'look' } }],
      max_completion_tokens: 9,
      stop: 'END',
      response_format: { type: 'json_object' },
      temperature: 0,
    },
    response: {},
  });

  test('has provider, model and parameters under one set of names', () => {
    expect(call).toMatchObject({
      operation: 'chat',
      provider: 'groq',
      api: 'openai.chat',
      requestModel: 'm',
      stream: false,
    });
    expect(call.parameters).toEqual({
      max_tokens: 9,
      stop_sequences: ['END'],
      response_format: { type: 'json_object' },
      temperature: 0,
      output_type: 'json',
    });
  });

  test('has its messages, attachments, tool calls and tool results', () => {
    expect(request.messages.map(({ raw: _raw, ...message }) => message)).toEqual([
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: 'What is this?', attachments: [{ type: 'image', sizeBytes: 3 }] },
      { role: 'assistant', toolCalls: [{ id: 'c1', name: 'look', arguments: '{"x":1}', type: 'function' }] },
      { role: 'tool', toolResult: { callId: 'c1', content: 'a pear' } },
    ]);
    expect(request.tools).toHaveLength(1);
  });

  test('takes the model from an Azure deployment', () => {
    const azure = view({
      url: 'https://r.openai.azure.com/openai/deployments/my%20gpt/chat/completions',
      request: { messages: [] },
    });
    expect(azure.call).toMatchObject({ provider: 'azure.ai.openai', requestModel: 'my gpt' });
  });
});

describe('a plain chat answer', () => {
  test('gives choices, finish reasons, usage and what no field is known for', () => {
    const body = {
      id: 'a1',
      object: 'chat.completion',
      created: 1,
      model: 'm-1',
      system_fingerprint: 'fp',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'Hi', refusal: null, annotations: [] },
        },
        {
          index: 1,
          finish_reason: 'length',
          message: { role: 'assistant', content: null, refusal: 'No.', reasoning_content: 'hm' },
        },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 5,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
      citations: ['https://a.test'],
    };
    const { response } = view({ request: { model: 'm', messages: [] }, response: body });
    expect(response.final).toEqual(body);
    expect(response.choices).toEqual([
      { index: 0, finishReason: 'stop', message: { role: 'assistant', text: 'Hi' } },
      { index: 1, finishReason: 'length', message: { role: 'assistant', refusal: 'No.', reasoning: 'hm' } },
    ]);
    expect(response).toMatchObject({
      id: 'a1',
      model: 'm-1',
      systemFingerprint: 'fp',
      finishReasons: ['stop', 'length'],
      unknown: { citations: ['https://a.test'] },
    });
    expect(response.usage).toEqual({
      inputTokens: 3,
      outputTokens: 2,
      totalTokens: 5,
      cacheReadInputTokens: 1,
      reasoningTokens: 1,
    });
  });

  test('gives the error of a failed call, also one that is no JSON', () => {
    const failed = view({ status: 429, response: { error: { message: 'slow down', type: 'rate', code: 'limit' } } });
    expect(failed.response.error).toEqual({ message: 'slow down', type: 'rate', code: 'limit' });
    expect(view({ status: 502, response: 'Bad gateway', responseType: 'text/html' }).response.error).toEqual({
      message: 'Bad gateway',
    });
  });
});

describe('a streamed chat answer', () => {
  test('joins parallel tool calls by index and several choices', () => {
    const { response } = streamed([
      chunk([
        {
          index: 0,
          delta: {
            role: 'assistant',
            content: null,
            tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
          },
          finish_reason: null,
        },
      ]),
      chunk([
        {
          index: 0,
          delta: { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{"y"' } }] },
        },
      ]),
      chunk([
        { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] } },
        { index: 1, delta: { role: 'assistant', content: 'two' } },
      ]),
      chunk([
        {
          index: 0,
          delta: {
            tool_calls: [
              { index: 1, function: { arguments: ':2}' } },
              { index: 0, function: { arguments: '1}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ]),
      chunk([{ index: 1, delta: {}, finish_reason: 'stop' }]),
      chunk([], { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    ]);
    expect(response.toolCalls).toEqual([
      { id: 'a', name: 'f', arguments: '{"x":1}', type: 'function' },
      { id: 'b', name: 'g', arguments: '{"y":2}', type: 'function' },
    ]);
    expect(response.finishReasons).toEqual(['tool_calls', 'stop']);
    expect(response.usage).toEqual({ inputTokens: 1, outputTokens: 2 });
    expect(response.final).toMatchObject({
      object: 'chat.completion',
      choices: [
        { message: { content: null, refusal: null, parsed: null, tool_calls: [{ id: 'a' }, { id: 'b' }] } },
        { message: { content: 'two' } },
      ],
    });
  });

  test('joins log probabilities and refusals, keeps unknown members', () => {
    const { response } = streamed([
      chunk([
        {
          index: 0,
          delta: { role: 'assistant', refusal: 'I ' },
          logprobs: { content: null, refusal: [{ token: 'I' }] },
          odd: 1,
        },
      ]),
      chunk([
        {
          index: 0,
          delta: { refusal: 'cannot' },
          logprobs: { content: null, refusal: [{ token: 'cannot' }] },
          finish_reason: 'stop',
        },
      ]),
    ]);
    expect(response.choices[0]?.message.refusal).toBe('I cannot');
    expect(response.final).toMatchObject({
      choices: [
        { odd: 1, logprobs: { refusal: [{ token: 'I' }, { token: 'cannot' }] }, message: { refusal: 'I cannot' } },
      ],
    });
  });

  test('parses structured answers where the SDK does', () => {
    const request = {
      stream: true,
      response_format: { type: 'json_schema' },
      tools: [{ type: 'function', function: { name: 'f', strict: true } }],
    };
    const { response } = streamed(
      [chunk([{ index: 0, delta: { role: 'assistant', content: '{"a":1}' }, finish_reason: 'stop' }])],
      request,
    );
    expect(response.final).toMatchObject({ choices: [{ message: { parsed: { a: 1 } } }] });
  });

  test('reads dialects: reasoning in pieces, content as parts, calls without an index or all with the same', () => {
    const { response } = streamed([
      chunk([{ index: 0, delta: { role: 'assistant', reasoning_content: 'first ' } }]),
      chunk([{ index: 0, delta: { reasoning: 'then' } }]),
      chunk([
        {
          index: 0,
          delta: {
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: '!' }] },
              { type: 'text', text: 'Hello' },
            ],
          },
        },
      ]),
      chunk([{ index: 0, delta: { tool_calls: [{ id: 'p', function: { name: 'f', arguments: '{}' } }] } }]),
      chunk([{ index: 0, delta: { tool_calls: [{ index: 0, id: 'q', function: { name: 'g', arguments: '{' } }] } }]),
      chunk([{ index: 0, delta: { tool_calls: [{ index: 0, id: 'r', function: { name: 'g', arguments: '{}' } }] } }]),
    ]);
    expect(response.choices[0]?.message).toMatchObject({ text: 'Hello', reasoning: 'first then!' });
    expect(response.toolCalls.map(({ id, name, arguments: args }) => [id, name, args])).toEqual([
      ['p', 'f', '{}'],
      ['q', 'g', '{'],
      ['r', 'g', '{}'],
    ]);
  });

  test('takes members that a server fills with empty strings for none', () => {
    const empty = { name: '', arguments: '' };
    const message = {
      content: 'x',
      refusal: '',
      function_call: empty,
      tool_calls: [
        { id: 'a', type: 'function', custom: { name: '', input: '' }, function: { name: 'f', arguments: '{}' } },
      ],
    };
    const expected = { text: 'x', toolCalls: [{ id: 'a', name: 'f', arguments: '{}', type: 'function' }] };
    const plain = view({ response: { choices: [{ index: 0, message }] } }).response.choices[0]?.message;
    expect(plain).toMatchObject(expected);
    expect(plain).not.toHaveProperty('refusal');
    expect(streamed([chunk([{ index: 0, delta: message }])]).response.choices[0]?.message).toMatchObject(expected);
  });

  test('keeps what came before an error frame', () => {
    const { response } = streamed([
      chunk([{ index: 0, delta: { role: 'assistant', content: 'par' } }]),
      { error: { message: 'overloaded', code: 503 } },
    ]);
    expect(response.error).toEqual({ message: 'overloaded', code: '503' });
    expect(response.choices[0]?.message.text).toBe('par');
  });

  test('reads a stream that was cut, and one that calls itself JSON', () => {
    const text = sseOf([chunk([{ index: 0, delta: { role: 'assistant', content: 'half' } }])], 'data: {"id":"chatc');
    expect(view({ response: text, responseType: 'text/event-stream' }).response.choices[0]?.message.text).toBe('half');
    expect(view({ response: text, responseType: 'application/json' }).response.choices[0]?.message.text).toBe('half');
  });
});
