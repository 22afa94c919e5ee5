import type { Json } from '@orangebox/schema';
import { describe, expect, test } from 'vitest';
import { sseOf, testExchange, type TestExchange } from '../testing.ts';
import { describeCall } from './index.ts';

const view = (parts: TestExchange): ReturnType<typeof describeCall> =>
  describeCall(
    { exchanges: [testExchange({ url: 'https://api.openai.com/v1/responses', ...parts })] },
    () => undefined,
  );

describe('a responses request', () => {
  test('is instructions, then its items as messages', () => {
    const { call, request } = view({
      request: {
        model: 'm',
        instructions: 'Be kind.',
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'greet' }] },
          {
            type: 'message',
            role: 'assistant',
            id: 'msg',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
          },
          { type: 'function_call', call_id: 'c1', id: 'fc', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'done' }] },
          { type: 'custom_tool_call', call_id: 'c2', name: 'sql', input: 'select 1' },
          { type: 'custom_tool_call_output', call_id: 'c2', output: '1' },
        ],
        max_output_tokens: 5,
        text: { format: { type: 'json_schema' } },
        conversation: { id: 'conv_1' },
        previous_response_id: 'resp_0',
      },
    });
    expect(call).toMatchObject({ operation: 'chat', api: 'openai.responses', provider: 'openai' });
    expect(call.parameters).toMatchObject({ max_tokens: 5, output_type: 'json' });
    expect(request).toMatchObject({ previousResponseId: 'resp_0', conversationId: 'conv_1' });
    expect(request.messages.map(({ raw: _raw, ...message }) => message)).toEqual([
      { role: 'system', text: 'Be kind.' },
      { role: 'user', text: 'Hi' },
      { role: 'assistant', reasoning: 'greet' },
      { role: 'assistant', text: 'Hello' },
      { role: 'assistant', toolCalls: [{ id: 'c1', name: 'f', arguments: '{}', type: 'function' }] },
      { role: 'tool', toolResult: { callId: 'c1', content: 'done' } },
      { role: 'assistant', toolCalls: [{ id: 'c2', name: 'sql', arguments: 'select 1', type: 'custom' }] },
      { role: 'tool', toolResult: { callId: 'c2', content: '1' } },
    ]);
  });

  test('that polls a background response names it', () => {
    const polled = view({
      method: 'GET',
      url: 'https://a.test/v1/responses/resp_9',
      response: {
        id: 'resp_9',
        object: 'response',
        model: 'm',
        status: 'completed',
        background: true,
        output: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    });
    expect(polled.request).toEqual({ messages: [], previousResponseId: 'resp_9' });
    expect(polled.call.requestModel).toBe('m');
    expect(polled.response.usage).toBeDefined();
    const foreground = view({
      method: 'GET',
      url: 'https://a.test/v1/responses/resp_9',
      response: { id: 'resp_9', object: 'response', output: [], usage: { input_tokens: 1, output_tokens: 1 } },
    });
    expect(foreground.response.usage).toBeUndefined();
  });
});

const created = {
  type: 'response.created',
  response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'm-1', output: [] },
};

describe('a streamed response', () => {
  const events: Json[] = [
    created,
    { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs', summary: [] } },
    {
      type: 'response.reasoning_summary_part.added',
      output_index: 0,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'thinking' },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { type: 'message', id: 'msg', role: 'assistant', content: [] },
    },
    {
      type: 'response.content_part.added',
      output_index: 1,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    {
      type: 'response.output_item.added',
      output_index: 2,
      item: { type: 'function_call', id: 'fc', call_id: 'c1', name: 'f', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a"' },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hel' },
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: ':1}' },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'lo' },
    {
      type: 'response.output_text.annotation.added',
      output_index: 1,
      content_index: 0,
      annotation_index: 0,
      annotation: { type: 'url_citation' },
    },
    {
      type: 'response.output_item.added',
      output_index: 3,
      item: { type: 'web_search_call', id: 'ws', status: 'in_progress' },
    },
    { type: 'response.web_search_call.searching', output_index: 3 },
  ];

  test('that was cut shows all that came', () => {
    const { response } = view({ response: sseOf(events, ''), responseType: 'text/event-stream' });
    expect(response.final).toMatchObject({
      output_text: 'Hello',
      output: [
        { summary: [{ text: 'thinking' }] },
        { content: [{ text: 'Hello', parsed: null, annotations: [{ type: 'url_citation' }] }] },
        { arguments: '{"a":1}', parsed_arguments: null },
        { status: 'searching' },
      ],
    });
    expect(response.choices[0]?.message).toMatchObject({ text: 'Hello', reasoning: 'thinking' });
    expect(response.toolCalls.map(({ id, type }) => [id, type])).toEqual([
      ['c1', 'function'],
      ['ws', 'web_search_call'],
    ]);
    expect(response.finishReasons).toEqual(['in_progress']);
  });

  test('ends with the response of its last event', () => {
    const done = {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm-1',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Bye' }] }],
      usage: { input_tokens: 4, output_tokens: 2, output_tokens_details: { reasoning_tokens: 1 } },
    };
    const { response } = view({
      response: sseOf([...events, { type: 'response.completed', response: done }], ''),
      responseType: 'text/event-stream',
    });
    expect(response).toMatchObject({
      id: 'resp_1',
      finishReasons: ['stop'],
      usage: { inputTokens: 4, outputTokens: 2, reasoningTokens: 1 },
    });
    expect(response.choices[0]?.message.text).toBe('Bye');
  });

  test('passes over events that name what is not there, and says the error of an error event', () => {
    const { response } = view({
      response: sseOf(
        [
          { type: 'response.output_text.delta', output_index: 9, content_index: 0, delta: 'x' },
          { type: 'error', code: 'server_error', message: 'broken' },
        ],
        '',
      ),
      responseType: 'text/event-stream',
    });
    expect(response.error).toEqual({ message: 'broken', type: 'error', code: 'server_error' });
  });

  test('that failed says why', () => {
    const failed = {
      id: 'r',
      object: 'response',
      status: 'failed',
      output: [],
      error: { code: 'server_error', message: 'no luck' },
    };
    const { response } = view({
      response: sseOf([created, { type: 'response.failed', response: failed }], ''),
      responseType: 'text/event-stream',
    });
    expect(response.error).toEqual({ message: 'no luck', code: 'server_error' });
  });
});

test('a plain response gets its output text as in the SDK', () => {
  const body = {
    id: 'r',
    object: 'response',
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    model: 'm',
    output: [
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'output_text', text: 'b' },
        ],
      },
    ],
  };
  const { response } = view({ response: body });
  expect(response.final).toEqual({ ...body, output_text: 'ab' });
  expect(response.finishReasons).toEqual(['length']);
});
