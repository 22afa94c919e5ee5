import { describe, expect, test } from 'vitest';
import { utf8 } from './bytes.ts';
import { CONFIRM_BODY_MAX_BYTES, confirmBody, recogniseRequest } from './recognise.ts';

const json = 'application/json';

describe('recogniseRequest', () => {
  test.each([
    'https://api.openai.com/v1/chat/completions',
    'http://localhost:8000/v1/chat/completions',
    'https://gateway.test/team-a/openai/v1/chat/completions?trace=1',
    'https://x.openai.azure.com/openai/deployments/my%20model/chat/completions?api-version=2024-10-21',
    'https://x.openai.azure.com//openai/deployments/d/embeddings?api-version=1',
    'https://api.openai.com/v1/responses',
    'https://gateway.test/openai/responses/',
    'https://api.openai.com/v1/embeddings',
    'https://api.openai.com/v1/completions',
    'https://api.openai.com/v1/images/generations',
    'https://api.anthropic.com/v1/messages',
    'https://generativelanguage.googleapis.com/v1beta/models/g:generateContent',
    'https://proxy.test/v1beta/models/g%3AstreamGenerateContent?alt=sse',
    'https://r.test/v1/projects/p/locations/l/publishers/google/models/e:predict',
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-micro-v1%3A0/converse-stream',
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke',
    '/v1/chat/completions',
  ])('sees from the path alone that %s is an LLM call', (url) => {
    expect(recogniseRequest('POST', url, json)).toBe('llm');
  });

  test.each([
    ['GET', 'https://api.openai.com/v1/models'],
    ['GET', 'https://api.openai.com/v1/chat/completions'],
    ['POST', 'https://api.openai.com/v1/files'],
    ['DELETE', 'https://api.openai.com/v1/responses/resp_1'],
    ['POST', 'https://api.openai.com/v1/responses/resp_1/cancel'],
    ['POST', 'https://api.openai.com/v1/responses/input_tokens'],
    ['POST', 'https://api.openai.com/v1/assistants'],
    ['POST', 'https://api.openai.com/v1/threads/thread_1/messages'],
    ['POST', 'https://api.openai.com/v1/threads/thread_1/runs'],
    ['POST', 'https://api.anthropic.com/v1/messages/count_tokens'],
    ['POST', 'https://api.anthropic.com/v1/messages/batches'],
    ['POST', 'https://generativelanguage.googleapis.com/v1beta/models/g:countTokens'],
    ['POST', 'https://r.test/v1/projects/p/locations/l/endpoints/7:predict'],
    ['POST', 'https://bedrock-runtime.test/model/m/count-tokens'],
    ['POST', 'https://api.github.com/graphql'],
    ['POST', 'https://registry.test/-/npm/v1/security/advisories/bulk'],
    ['POST', 'http://localhost:4318/v1/traces'],
    ['POST', 'https://chat.test/rooms/12/messages'],
    ['POST', 'https://example.test/'],
    ['POST', 'https://example.test/constructor'],
    ['POST', 'https://lambda.test/model/invoke'],
  ])('leaves %s %s alone', (method, url) => {
    expect(recogniseRequest(method, url, json)).toBe('no');
  });

  test('takes multipart uploads of audio and images, but no form of an ambiguous path', () => {
    const form = 'multipart/form-data; boundary=x';
    expect(recogniseRequest('POST', 'https://a.test/v1/audio/transcriptions', form)).toBe('llm');
    expect(recogniseRequest('POST', 'https://a.test/v1/images/edits', form)).toBe('llm');
    expect(recogniseRequest('POST', 'https://a.test/v1/responses', form)).toBe('no');
    expect(recogniseRequest('POST', 'https://a.test/v1/responses', 'application/x-www-form-urlencoded')).toBe('no');
  });

  test('decides an ambiguous path by the client where that is known', () => {
    expect(recogniseRequest('POST', 'http://10.0.0.1/v1/responses', json)).toBe('maybe');
    expect(recogniseRequest('POST', 'http://10.0.0.1/v1/responses', json, 'OpenAI/JS 6.49.0')).toBe('llm');
    expect(recogniseRequest('POST', 'http://10.0.0.1/v1/messages', json, 'Anthropic/JS 0.60')).toBe('llm');
    expect(recogniseRequest('POST', 'http://10.0.0.1/v1/responses', json, 'curl/8')).toBe('maybe');
  });

  test('takes the polling of a background response', () => {
    expect(recogniseRequest('GET', 'https://a.test/v1/responses/resp_12?stream=true')).toBe('llm');
    expect(recogniseRequest('GET', 'https://a.test/v1/responses/12')).toBe('no');
  });
});

/** Requests of other services whose paths look like those of models. */
const others: [url: string, body: unknown][] = [
  ['/forms/responses', { form: 7, answers: [{ question: 'model', answer: 'messages' }] }],
  ['/v1/responses', { survey_id: 's', respondent: { role: 'user' }, input_method: 'web' }],
  ['/v1/messages', { to: '+491', from: '+492', body: 'hello', model: undefined }],
  ['/v1/messages', { channel: 'c', text: 'role and messages', messages_left: 3 }],
  ['/api/chat', { room: 4, text: '"model": "x", "messages": []' }],
  ['/v1/generate', { template: 'invoice', rows: [{ model: 'm', input: 'i' }] }],
  ['/v1/classify', { image: 'x' }],
  ['/api/complete', { task: 12, done: true }],
  ['/rpc/chat', { jsonrpc: '2.0', method: 'm', params: {}, model: 'x', input: 'y' }],
  ['/v1/predictions', { sensor: 'a', horizon: 3 }],
  ['/v1/conversations', { items: [{ type: 'message', role: 'user', content: 'x' }] }],
  ['/graphql/chat', { query: 'query { model messages }', variables: { input: 'x' } }],
];

describe('confirmBody', () => {
  test.each(others)('is not taken in by %s of another service', (url, body) => {
    const verdict = recogniseRequest('POST', `https://other.test${url}`, json);
    expect(verdict === 'no' || !confirmBody(utf8(JSON.stringify(body)))).toBe(true);
  });

  test.each([
    { model: 'm', input: 'x' },
    { input: [{ role: 'user', content: 'x' }], model: 'm' },
    { messages: [{ role: 'user', content: 'x' }] },
    { contents: [{ parts: [{ text: 'x' }] }] },
    { prompt: 'x', max_tokens_to_sample: 3 },
    { inputs: 'x', parameters: { max_new_tokens: 1 } },
    { query: 'q', documents: ['a'] },
    { message: 'hi', chat_history: [] },
    { previous_response_id: 'r', input: 'x' },
  ])('takes %j', (body) => {
    expect(confirmBody(utf8(JSON.stringify(body)))).toBe(true);
    expect(confirmBody(utf8(`\ufeff \n${JSON.stringify(body, null, 2)}`))).toBe(true);
  });

  test('decides although the first bytes end within a string', () => {
    expect(confirmBody(utf8('{"messages":[{"role":"user","content":"a long story that does not en'))).toBe(true);
    expect(confirmBody(utf8('{"model":"m","input":"caf\\'))).toBe(true);
  });

  test('a long body whose model comes after its content is recognised from the part that is looked at', () => {
    const long = 'x'.repeat(CONFIRM_BODY_MAX_BYTES);
    expect(confirmBody(utf8(`{"include":[],"input":[{"role":"user","content":"${long}"}],"model":"m"}`))).toBe(true);
    expect(confirmBody(utf8(`{"note":"${long}","input":"short","model":"m"}`))).toBe(false);
    expect(confirmBody(utf8(`{"jsonrpc":"2.0","input":"${long}"}`))).toBe(false);
  });

  test.each(['', '[]', '"model"', 'model=1&messages=2', '{', '\u0000\u0001{'])('refuses %j', (text) => {
    expect(confirmBody(utf8(text))).toBe(false);
  });

  test('counts only keys of the top level, and no values', () => {
    expect(confirmBody(utf8('{"data":{"model":"m","messages":[{"role":"user"}]}}'))).toBe(false);
    expect(confirmBody(utf8('{"a":"model","b":"input"}'))).toBe(false);
    expect(confirmBody(utf8('{"a":"\\"model\\":1,\\"input\\":2"}'))).toBe(false);
  });
});
