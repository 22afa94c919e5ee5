import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import {
  ATTR,
  type CallView,
  type Exchange,
  GEN_AI,
  HTTP_ATTR,
  type RequestView,
  type ResponseView,
  SNAPSHOT_SCHEMA,
  type Snapshot,
} from '@orangebox/schema';
import { expect, it } from 'vitest';
import { callSpanFacts, callStartAttributes, type CallViews, toolSpanFacts } from './span-content.ts';
import { callSpanRecords, toolSpanRecord } from './span-record.ts';

const options = { captureContent: false, names: 'latest' } as const;
const key = `v1/20260102/${'a'.repeat(32)}/${'b'.repeat(16)}/${'d'.repeat(16)}`;

function exchange(part: Partial<Exchange> = {}): Exchange {
  return {
    attempt: 0,
    startUnixNano: '1000000000',
    endOffsetNano: '500000000',
    client: 'undici',
    request: {
      method: 'POST',
      url: 'https://api.openai.com/v1/chat/completions',
      headers: [],
      body: { form: 'empty', sizeBytes: 0 },
      chunks: [],
      sent: true,
    },
    response: {
      status: 200,
      statusText: 'OK',
      headers: [],
      headOffsetNano: '100000000',
      body: { form: 'text', sizeBytes: 2, text: '{}' },
      chunks: [{ sizeBytes: 2, offsetNano: '250000000' }],
    },
    ending: 'complete',
    stage: 'done',
    ...part,
  };
}

function snapshot(part: Partial<Snapshot> = {}): Snapshot {
  return {
    schema: SNAPSHOT_SCHEMA,
    id: 'b'.repeat(16),
    kind: 'llm',
    trace: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true },
    session: { id: 's1', seq: 3, basis: 'inferred' },
    scope: [
      { kind: 'agent', name: 'planner', id: '1' },
      { kind: 'step', name: 'think', id: '2' },
    ],
    time: { startUnixNano: '1000000000', endUnixNano: '1500000000' },
    exchanges: [exchange()],
    process: { pid: 1, threadId: 0, host: 'h', node: 'v20', orangebox: '0.1.0', serviceName: 'shop' },
    fidelity: { level: 'exact' },
    redactions: [],
    digest: 'd'.repeat(64),
    ...part,
  };
}

function views(
  part: { call?: Partial<CallView>; request?: Partial<RequestView>; response?: Partial<ResponseView> } = {},
): CallViews {
  return {
    call: {
      operation: 'chat',
      provider: 'openai',
      api: 'openai.chat',
      requestModel: 'gpt-4o',
      stream: false,
      parameters: {},
      ...part.call,
    },
    request: { messages: [], ...part.request },
    response: {
      id: 'chatcmpl-1',
      model: 'gpt-4o-2024',
      choices: [],
      toolCalls: [],
      finishReasons: ['stop'],
      usage: { inputTokens: 10, outputTokens: 4, cacheReadInputTokens: 2, reasoningTokens: 1 },
      ...part.response,
    },
  };
}

const facts = (
  input: { snapshot?: Partial<Snapshot>; views?: CallViews; nested?: boolean; attemptSpanIds?: string[] } = {},
) =>
  callSpanFacts(
    {
      snapshot: snapshot(input.snapshot),
      views: input.views ?? views(),
      key,
      sizeBytes: 1234,
      nested: input.nested ?? false,
      attemptSpanIds: input.attemptSpanIds ?? [],
    },
    options,
  );

it('uses no name that the semantic conventions do not have', () => {
  const known = new Set<unknown>(Object.values(conventions));
  const names = [...Object.values(GEN_AI), ...Object.values(HTTP_ATTR)];
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

it('describes a chat call', () => {
  const { name, attributes, status, startUnixNano, endUnixNano } = facts({
    views: views({
      call: {
        parameters: {
          temperature: 0.2,
          top_p: 0.9,
          max_completion_tokens: 100,
          stop: ['END'],
          seed: 7,
          n: 1,
          frequency_penalty: 0.1,
          presence_penalty: 0.2,
          response_format: { type: 'json_schema' },
        },
      },
    }),
  });
  expect(name).toBe('chat gpt-4o');
  expect([startUnixNano, endUnixNano]).toEqual([1_000_000_000n, 1_500_000_000n]);
  expect(status).toEqual({ code: 'unset' });
  expect(attributes).toEqual({
    [ATTR.snapshotKey]: key,
    [ATTR.snapshotDigest]: 'd'.repeat(64),
    [ATTR.snapshotSize]: 1234,
    [ATTR.snapshotFidelity]: 'exact',
    [ATTR.sessionId]: 's1',
    [ATTR.sessionSeq]: 3,
    [ATTR.sessionBasis]: 'inferred',
    'http.request.method': 'POST',
    'server.address': 'api.openai.com',
    'server.port': 443,
    'http.response.status_code': 200,
    'gen_ai.conversation.id': 's1',
    'gen_ai.agent.name': 'planner',
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.request.max_tokens': 100,
    'gen_ai.request.temperature': 0.2,
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.frequency_penalty': 0.1,
    'gen_ai.request.presence_penalty': 0.2,
    'gen_ai.request.stop_sequences': ['END'],
    'gen_ai.request.seed': 7,
    'gen_ai.output.type': 'json',
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.model': 'gpt-4o-2024',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.cache_read.input_tokens': 2,
    'gen_ai.usage.reasoning.output_tokens': 1,
  });
});

it('writes the older system name too unless the latest conventions are asked for', () => {
  const input = { snapshot: snapshot(), views: views(), sizeBytes: 1, nested: false, attemptSpanIds: [] };
  const older = callSpanFacts(input, { captureContent: false, names: 'compatible' }).attributes;
  expect(older).toMatchObject({ 'gen_ai.system': 'openai', 'gen_ai.provider.name': 'openai' });
  expect(facts().attributes['gen_ai.system']).toBeUndefined();
});

it('promises no key where there is none, and says why', () => {
  const { attributes } = callSpanFacts(
    {
      snapshot: snapshot({ fidelity: { level: 'partial', reason: 'no_storage' } }),
      views: views(),
      sizeBytes: 1,
      nested: false,
      attemptSpanIds: [],
    },
    options,
  );
  expect(attributes[ATTR.snapshotKey]).toBeUndefined();
  expect(attributes).toMatchObject({
    [ATTR.snapshotFidelity]: 'partial',
    [ATTR.snapshotFidelityReason]: 'no_storage',
  });
});

it('gives the seconds to the first chunk of a streamed answer', () => {
  const streamed = facts({ views: views({ call: { stream: true } }) });
  expect(streamed.attributes).toMatchObject({
    'gen_ai.response.time_to_first_chunk': 0.25,
    'gen_ai.request.stream': true,
  });
});

it('says nothing of model and usage inside the span of another instrumentation', () => {
  const nested = facts({ nested: true });
  const genAi = Object.keys(nested.attributes).filter((name) => name.startsWith('gen_ai.'));
  expect(genAi.sort()).toEqual(['gen_ai.agent.name', 'gen_ai.conversation.id', 'gen_ai.response.id']);
  expect(nested.attributes[ATTR.snapshotKey]).toBe(key);
});

it.each([
  [{ exchanges: [exchange({ response: { ...response(), status: 429 } })] }, {}, '429'],
  [
    {
      exchanges: [withoutResponse({ ending: 'connect_failed', stage: 'connect' })],
      error: { stage: 'connect', type: 'TypeError', code: 'ECONNREFUSED', message: 'fetch failed' },
    },
    {},
    'ECONNREFUSED',
  ],
  [
    {
      error: { stage: 'response_body', type: 'AbortError', message: 'aborted' },
      exchanges: [exchange({ ending: 'caller_abort' })],
    },
    {},
    'caller_abort',
  ],
  [
    {
      error: { stage: 'response_head', type: 'Error', code: 'ECONNRESET', message: 'socket hang up' },
      exchanges: [withoutResponse({ ending: 'timeout', stage: 'response_head' })],
    },
    {},
    'timeout',
  ],
  [{ exchanges: [exchange({ ending: 'cut' })] }, {}, 'cut'],
  [{}, { error: { type: 'server_error', message: 'boom' } }, 'server_error'],
] as [Partial<Snapshot>, Partial<ResponseView>, string][])(
  'marks a failed call as an error (%#)',
  (part, answer, type) => {
    const failed = facts({ snapshot: part, views: views({ response: answer }) });
    expect(failed.attributes['error.type']).toBe(type);
    expect(failed.status.code).toBe('error');
  },
);

it('does not call it an error when the program stops reading', () => {
  const error = { stage: 'response_body', type: 'AbortError', message: 'aborted' } as const;
  const { attributes, status } = facts({
    snapshot: { exchanges: [exchange({ ending: 'caller_stopped_reading', error })] },
  });
  expect(attributes['error.type']).toBeUndefined();
  expect(status).toEqual({ code: 'unset' });
});

it('gives each attempt a span of its own with status and resend count', () => {
  const first = exchange({ response: { ...response(), status: 503 } });
  const second = exchange({ attempt: 1, startUnixNano: '2000000000' });
  const { attempts } = facts({
    snapshot: { exchanges: [first, second] },
    attemptSpanIds: ['1'.repeat(16), '2'.repeat(16)],
  });
  expect(attempts).toMatchObject([
    {
      spanId: '1'.repeat(16),
      name: 'POST',
      endUnixNano: 1_500_000_000n,
      attributes: { 'http.response.status_code': 503, 'error.type': '503' },
      status: { code: 'error' },
    },
    {
      spanId: '2'.repeat(16),
      startUnixNano: 2_000_000_000n,
      attributes: { 'http.request.resend_count': 1, 'http.response.status_code': 200 },
      status: { code: 'unset' },
    },
  ]);
  expect(attempts[0]?.attributes['http.request.resend_count']).toBeUndefined();
});

it('puts message content on the span in the shapes of the conventions, when asked', () => {
  const { attributes } = callSpanFacts(
    {
      snapshot: snapshot(),
      views: views({
        request: {
          messages: [
            { role: 'system', text: 'Be brief.' },
            { role: 'user', text: 'Weather?' },
            { role: 'assistant', toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' }] },
            { role: 'tool', toolResult: { callId: 'c1', content: 'rain' } },
          ],
        },
        response: { choices: [{ index: 0, finishReason: 'stop', message: { role: 'assistant', text: 'Rain.' } }] },
      }),
      sizeBytes: 1,
      nested: false,
      attemptSpanIds: [],
    },
    { captureContent: true, names: 'latest' },
  );
  const json = (name: string): unknown => JSON.parse(String(attributes[name]));
  expect(json('gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Be brief.' }]);
  expect(json('gen_ai.input.messages')).toEqual([
    { role: 'user', parts: [{ type: 'text', content: 'Weather?' }] },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'weather', arguments: { city: 'Oslo' } }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'rain' }] },
  ]);
  expect(json('gen_ai.output.messages')).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'Rain.' }], finish_reason: 'stop' },
  ]);
});

it('puts no content on the span unless asked', () => {
  const text = JSON.stringify(
    facts({ views: views({ request: { messages: [{ role: 'user', text: 'secret plan' }] } }) }),
    bigints,
  );
  expect(text).not.toContain('secret plan');
});

it('describes a tool execution', () => {
  const tool = snapshot({
    kind: 'tool',
    exchanges: [],
    tool: { basis: 'wrapped', name: 'weather', callId: 'c1', arguments: '{}', result: '"rain"' },
  });
  const described = toolSpanFacts({ snapshot: tool, key, sizeBytes: 9 }, options);
  expect(described.name).toBe('execute_tool weather');
  expect(described.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'weather',
    'gen_ai.tool.call.id': 'c1',
    [ATTR.snapshotKey]: key,
  });
  expect(described.attributes['gen_ai.tool.call.result']).toBeUndefined();
  expect(toolSpanRecord(described, tool.trace)).toMatchObject({ name: 'execute_tool weather', kind: 1 });
});

it('starts with a placeholder for each attribute of its own', () => {
  const start = callStartAttributes('POST', 'http://[::1]:8080/v1/chat/completions?x=1');
  for (const name of Object.values(ATTR)) expect(start).toHaveProperty([name]);
  expect(start).toMatchObject({ 'server.address': '::1', 'server.port': 8080, 'http.request.method': 'POST' });
});

it('writes OTLP/JSON records of the call and its attempts', () => {
  const described = facts({
    snapshot: { exchanges: [exchange(), exchange({ attempt: 1 })] },
    attemptSpanIds: ['1'.repeat(16), '2'.repeat(16)],
  });
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: 'c'.repeat(16), sampled: true };
  const [own, first] = callSpanRecords(described, trace, false) as Record<string, unknown>[];
  expect(own).toMatchObject({
    ...{ traceId: trace.traceId, spanId: trace.spanId, parentSpanId: trace.parentSpanId },
    name: 'chat gpt-4o',
    kind: 3,
    flags: 1,
    startTimeUnixNano: '1000000000',
    endTimeUnixNano: '1500000000',
  });
  expect(own?.['attributes']).toContainEqual({ key: ATTR.sessionSeq, value: { intValue: '3' } });
  expect(own?.['attributes']).toContainEqual({
    key: 'gen_ai.response.finish_reasons',
    value: { arrayValue: { values: [{ stringValue: 'stop' }] } },
  });
  expect(first).toMatchObject({ spanId: '1'.repeat(16), parentSpanId: trace.spanId, kind: 3 });
  expect(callSpanRecords(described, trace, true)[0]).toMatchObject({ kind: 1 });
});

function response(): NonNullable<Exchange['response']> {
  return exchange().response as NonNullable<Exchange['response']>;
}

function withoutResponse(part: Partial<Exchange>): Exchange {
  const { response: _none, ...rest } = exchange(part);
  return rest;
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
