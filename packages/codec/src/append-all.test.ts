import type { Json } from '@orangebox/schema';
import { expect, test } from 'vitest';
import { describeCall } from './adapters/index.ts';
import { testExchange } from './testing.ts';

const MANY = 300_000;
const many = (item: Json): Json[] => Array.from({ length: MANY }, () => item);
const requests: [url: string, request: Json][] = [
  ['https://a.test/v1/responses', { model: 'm', input: many({ type: 'message', role: 'user', content: 'x' }) }],
  ['https://a.test/v1/responses', { model: 'm', instructions: many({ role: 'user', content: 'x' }), input: 'y' }],
  [
    'https://a.test/v1/messages',
    {
      model: 'm',
      messages: [{ role: 'user', content: many({ type: 'tool_result', tool_use_id: 't', content: 'x' }) }],
    },
  ],
  [
    'https://a.test/v1beta/models/g:generateContent',
    { contents: [{ role: 'user', parts: many({ functionResponse: { name: 'f', response: {} } }) }] },
  ],
  [
    'https://a.test/model/m/converse',
    { messages: [{ role: 'user', content: many({ toolResult: { toolUseId: 't', content: [{ text: 'x' }] } }) }] },
  ],
  ['https://a.test/anything/chat', { model: 'm', messages: many({ role: 'user', content: 'x' }) }],
];

test.each(requests)(
  'a request with a list of hundreds of thousands is described: %s',
  { timeout: 60_000 },
  (url, request) => {
    const view = describeCall({ exchanges: [testExchange({ url, request })] }, () => undefined);
    expect(view.request.messages.length).toBeGreaterThan(0);
  },
);
