import type { Json } from '@orangebox/schema';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { encodeBody } from '../body.ts';
import { concatBytes, toBase64, utf8 } from '../bytes.ts';
import { sseOf, testExchange, type TestExchange } from '../testing.ts';
import { describeCall, withViews } from './index.ts';
import { embeddingVector } from './openai-embeddings.ts';

const view = (parts: TestExchange): ReturnType<typeof describeCall> =>
  describeCall({ exchanges: [testExchange(parts)] }, () => undefined);

test('embeddings are counted and measured, as numbers and as base64', () => {
  const url = 'https://a.test/v1/embeddings';
  const floats = new Uint8Array(new Float32Array([0.5, -2, 4]).buffer);
  for (const embedding of [[0.5, -2, 4], toBase64(floats)]) {
    const { call, request, response } = view({
      url,
      request: { model: 'e', input: ['a', 'b'], encoding_format: 'float', dimensions: 3 },
      response: {
        object: 'list',
        model: 'e-1',
        data: [
          { index: 0, embedding },
          { index: 1, embedding },
        ],
        usage: { prompt_tokens: 2, total_tokens: 2 },
      },
    });
    expect(call).toMatchObject({
      operation: 'embeddings',
      api: 'openai.embeddings',
      parameters: { encoding_formats: ['float'], dimensions: 3 },
    });
    expect(request.messages).toEqual([
      { role: 'input', text: 'a' },
      { role: 'input', text: 'b' },
    ]);
    expect(response).toMatchObject({
      model: 'e-1',
      embeddings: { count: 2, dimensions: 3 },
      usage: { inputTokens: 2 },
    });
    expect(embeddingVector(embedding as Json)).toEqual([0.5, -2, 4]);
  }
  expect(embeddingVector('not base64 !')).toEqual([]);
});

test('text completions are read plain and streamed, several choices too', () => {
  const url = 'https://a.test/v1/completions';
  const piece = (index: number, text: string, finish: string | null = null): Json => ({
    id: 'c',
    object: 'text_completion',
    model: 'm',
    choices: [{ index, text, finish_reason: finish, logprobs: { tokens: [text] } }],
  });
  const { call, response } = view({
    url,
    request: { model: 'm', prompt: 'Once', stream: true },
    response: sseOf([piece(0, 'up'), piece(1, 'in'), piece(0, 'on', 'stop'), piece(1, ' a', 'length')]),
    responseType: 'text/event-stream',
  });
  expect(call).toMatchObject({ operation: 'text_completion', stream: true });
  expect(response.choices.map((choice) => [choice.message.text, choice.finishReason])).toEqual([
    ['upon', 'stop'],
    ['in a', 'length'],
  ]);
  expect(response.final).toMatchObject({
    choices: [{ text: 'upon', logprobs: { tokens: ['up', 'on'] } }, { text: 'in a' }],
  });
});

test('a form upload gives its model and the size of its file', () => {
  const form = [
    '--b1',
    'Content-Disposition: form-data; name="model"',
    '',
    'schön-1',
    '--b1',
    'Content-Disposition: form-data; name="file"; filename="a.wav"',
    'Content-Type: audio/wav',
    '',
    'RIFF\u0000',
    '--b1--',
    '',
  ].join('\r\n');
  const { call } = view({
    url: 'https://a.test/v1/audio/transcriptions',
    requestType: 'multipart/form-data; boundary=b1',
    request: form,
    response: { text: 'hello' },
  });
  expect(call).toMatchObject({ operation: 'speech_to_text', requestModel: 'schön-1', provider: 'openai' });
});

describe('content encodings', () => {
  const answer = {
    id: 'z',
    choices: [{ index: 0, message: { role: 'assistant', content: 'packed' }, finish_reason: 'stop' }],
  };
  const packed = gzipSync(JSON.stringify(answer));
  const exchange = testExchange({ request: { model: 'm', messages: [] } });
  if (exchange.response) {
    exchange.response.headers.push(['content-encoding', 'gzip']);
    exchange.response.body = encodeBody(packed);
  }

  test('are undone by the decoder that the caller brings', () => {
    const { response } = describeCall({ exchanges: [exchange] }, (_encoding, bytes) => gunzipSync(bytes));
    expect(response.choices[0]?.message.text).toBe('packed');
  });

  test('that nobody can undo leave the view empty, and the call described', () => {
    const throwing = (): never => {
      throw new Error('damaged');
    };
    for (const decode of [throwing, () => undefined]) {
      const { call, response } = describeCall({ exchanges: [exchange] }, decode);
      expect(call.requestModel).toBe('m');
      expect(response.choices).toEqual([]);
    }
  });

  test('of bodies stored decoded are not undone again', () => {
    const stored = structuredClone(exchange);
    if (stored.response) {
      stored.response.body = encodeBody(utf8(JSON.stringify(answer)));
      stored.response.storedDecoded = { contentEncoding: 'gzip', wireSizeBytes: packed.length };
    }
    expect(describeCall({ exchanges: [stored] }, () => new Uint8Array(0)).response.choices[0]?.message.text).toBe(
      'packed',
    );
  });
});

test('the last attempt of a call is the one described', () => {
  const failed = testExchange({ request: { model: 'm', messages: [] }, status: 500, response: {} });
  const good = testExchange({ request: { model: 'm', messages: [] }, response: { id: 'good', choices: [] } });
  expect(describeCall({ exchanges: [failed, good] }, () => undefined).response.id).toBe('good');
  expect(describeCall({ exchanges: [] }, () => undefined).call.operation).toBe('unknown');
});

test('views are made for snapshots of calls only', () => {
  const base = { exchanges: [testExchange({ request: { model: 'm', messages: [] }, response: {} })] };
  const snapshot = (kind: string): Parameters<typeof withViews>[0] =>
    ({ ...base, kind }) as Parameters<typeof withViews>[0];
  expect(withViews(snapshot('llm'), () => undefined).call?.requestModel).toBe('m');
  expect(withViews(snapshot('http'), () => undefined).call).toBeUndefined();
});

describe('protocols without an adapter', () => {
  test('Anthropic: system, thinking, tool use and results, a stream put together', () => {
    const url = 'https://api.anthropic.com/v1/messages';
    const { call, request, response } = view({
      url,
      request: {
        model: 'claude',
        max_tokens: 5,
        stop_sequences: ['x'],
        system: [{ type: 'text', text: 'Sys' }],
        messages: [
          { role: 'user', content: 'q' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } }] },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'r' }], is_error: true },
              { type: 'text', text: 'go on' },
            ],
          },
        ],
      },
      responseType: 'text/event-stream',
      response: sseOf(
        [
          {
            type: 'message_start',
            message: {
              id: 'msg',
              type: 'message',
              role: 'assistant',
              model: 'claude-1',
              content: [],
              usage: { input_tokens: 2, cache_read_input_tokens: 3, output_tokens: 1 },
            },
          },
          { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
          {
            type: 'content_block_start',
            index: 1,
            content_block: { type: 'tool_use', id: 't2', name: 'g', input: {} },
          },
          { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"b":' } },
          { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '2}' } },
          { type: 'content_block_stop', index: 1 },
          { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
          { type: 'message_stop' },
        ],
        '',
      ),
    });
    expect(call).toMatchObject({
      operation: 'chat',
      provider: 'anthropic',
      api: 'generic',
      requestModel: 'claude',
      parameters: { max_tokens: 5, stop_sequences: ['x'] },
    });
    expect(request.messages).toMatchObject([
      { role: 'system', text: 'Sys' },
      { role: 'user', text: 'q' },
      { role: 'assistant', toolCalls: [{ id: 't1', name: 'f', arguments: '{"a":1}' }] },
      { role: 'tool', toolResult: { callId: 't1', content: 'r', isError: true } },
      { role: 'user', text: 'go on' },
    ]);
    expect(response).toMatchObject({
      id: 'msg',
      model: 'claude-1',
      finishReasons: ['tool_use'],
      toolCalls: [{ id: 't2', name: 'g', arguments: '{"b":2}' }],
    });
    expect(response.usage).toEqual({ inputTokens: 5, outputTokens: 9, cacheReadInputTokens: 3 });
    expect(response.choices[0]?.message.reasoning).toBe('hm');
  });

  test('Gemini: model in the path, function calls by name, chunks joined', () => {
    const { call, request, response } = view({
      url: 'https://generativelanguage.googleapis.com/v1beta/models/g-2:streamGenerateContent?alt=sse',
      request: {
        systemInstruction: { parts: [{ text: 'Sys' }] },
        contents: [
          { role: 'user', parts: [{ text: 'q' }] },
          { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: 1 } } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: { r: 1 } } }] },
        ],
        generationConfig: { maxOutputTokens: 4, topP: 0.5 },
      },
      responseType: 'text/event-stream',
      response: sseOf(
        [
          { candidates: [{ content: { role: 'model', parts: [{ text: 'He' }] } }], modelVersion: 'g-2-1' },
          {
            candidates: [{ content: { parts: [{ text: 'y' }] }, finishReason: 'STOP' }],
            usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, thoughtsTokenCount: 3 },
            responseId: 'r',
          },
        ],
        '',
      ),
    });
    expect(call).toMatchObject({
      operation: 'generate_content',
      provider: 'gcp.gemini',
      requestModel: 'g-2',
      stream: true,
      parameters: { max_tokens: 4, top_p: 0.5 },
    });
    expect(request.messages).toMatchObject([
      { role: 'system', text: 'Sys' },
      { role: 'user', text: 'q' },
      { role: 'assistant', toolCalls: [{ name: 'f' }] },
      { role: 'tool', toolResult: { name: 'f', content: '{"r":1}' } },
    ]);
    expect(response).toMatchObject({
      id: 'r',
      model: 'g-2-1',
      finishReasons: ['STOP'],
      usage: { inputTokens: 1, outputTokens: 5, reasoningTokens: 3 },
    });
    expect(response.choices[0]?.message.text).toBe('Hey');
  });

  test('Bedrock: event stream frames of converse, and an exception among them', () => {
    const exchange = testExchange({
      url: 'https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-micro-v1%3A0/converse-stream',
      request: {
        messages: [
          {
            role: 'user',
            content: [{ text: 'q' }, { toolResult: { toolUseId: 't0', content: [{ json: { r: 1 } }] } }],
          },
        ],
        inferenceConfig: { maxTokens: 3 },
      },
      responseType: 'application/vnd.amazon.eventstream',
    });
    const frames = [
      frame('messageStart', { role: 'assistant' }),
      frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hi' } }),
      frame('contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 't1', name: 'f' } } }),
      frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"a":1}' } } }),
      frame('messageStop', { stopReason: 'tool_use' }),
      frame('metadata', { usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } }),
      frame('throttlingException', { message: 'slow' }, ':exception-type'),
    ];
    if (exchange.response) exchange.response.body = encodeBody(concatBytes([...frames, utf8('torn')]));
    const { call, request, response } = describeCall({ exchanges: [exchange] }, () => undefined);
    expect(call).toMatchObject({
      provider: 'aws.bedrock',
      requestModel: 'amazon.nova-micro-v1:0',
      stream: true,
      parameters: { max_tokens: 3 },
    });
    expect(request.messages).toMatchObject([
      { role: 'tool', toolResult: { callId: 't0', content: '{"r":1}' } },
      { role: 'user', text: 'q' },
    ]);
    expect(response.toolCalls).toEqual([{ id: 't1', name: 'f', arguments: '{"a":1}', type: 'function' }]);
    expect(response).toMatchObject({
      finishReasons: ['tool_use'],
      usage: { totalTokens: 3 },
      error: { type: 'throttlingException', message: 'slow' },
    });
  });

  test('Ollama: lines of JSON', () => {
    const lines = [
      { model: 'l', message: { role: 'assistant', content: 'a' }, done: false },
      {
        model: 'l',
        message: { role: 'assistant', content: 'b' },
        done: true,
        done_reason: 'stop',
        prompt_eval_count: 4,
        eval_count: 2,
      },
    ];
    const { call, response } = view({
      url: 'http://localhost:11434/api/chat',
      request: { model: 'l', messages: [{ role: 'user', content: 'q' }], options: { num_predict: 2 } },
      response: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      responseType: 'application/x-ndjson',
    });
    expect(call).toMatchObject({ provider: 'ollama', stream: true, parameters: { max_tokens: 2 } });
    expect(response).toMatchObject({ model: 'l', finishReasons: ['stop'], usage: { inputTokens: 4, outputTokens: 2 } });
    expect(response.choices[0]?.message.text).toBe('ab');
  });

  test('rerankers and moderations are no conversations', () => {
    const { call, request } = view({
      url: 'https://api.cohere.com/v2/rerank',
      request: { model: 'r', query: 'q', documents: ['a'] },
      response: { results: [] },
    });
    expect(call).toMatchObject({ operation: 'rerank', provider: 'cohere' });
    expect(request.messages.map((message) => message.role)).toEqual(['input', 'input']);
  });
});

/** One AWS event stream frame; the adapter does not look at the checksums. */
function frame(type: string, payload: Json, header = ':event-type'): Uint8Array {
  const [name, value, body] = [utf8(header), utf8(type), utf8(JSON.stringify(payload))];
  const headers = concatBytes([new Uint8Array([name.length]), name, new Uint8Array([7, 0, value.length]), value]);
  const out = new Uint8Array(16 + headers.length + body.length);
  const numbers = new DataView(out.buffer);
  numbers.setUint32(0, out.length);
  numbers.setUint32(4, headers.length);
  out.set(headers, 12);
  out.set(body, 12 + headers.length);
  return out;
}
