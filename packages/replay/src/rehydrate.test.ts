import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { rehydrate } from './rehydrate.ts';
import { chatStream, pieces, recorded, recordedCall, storeWith } from './testing/recordings.ts';

const day = Date.UTC(2026, 10, 30, 12);
const session = { id: 'sess', basis: 'declared' as const };
const question = { role: 'user', content: 'Weather in Oslo and Rome?' };
const toolCalls = ['Oslo', 'Rome'].map((city, i) => ({
  id: `call_${i}_${city}`,
  type: 'function',
  function: { name: 'get_weather', arguments: `{"city":"${city}"}` },
}));
const asks = { role: 'assistant', content: null, tool_calls: toolCalls };
const asking = recorded(
  {
    requestBody: JSON.stringify({ model: 'gpt-4o', messages: [question] }),
    response: [
      JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        model: 'gpt-4o',
        choices: [{ index: 0, message: asks, finish_reason: 'tool_calls' }],
      }),
    ],
  },
  { session: { ...session, seq: 0 }, startMs: day },
);
const answering = recorded(
  {
    requestBody: JSON.stringify({
      model: 'gpt-4o',
      messages: [
        question,
        asks,
        { role: 'tool', tool_call_id: 'call_0_Oslo', content: '-3' },
        { role: 'tool', tool_call_id: 'call_1_Rome', content: '14' },
      ],
    }),
  },
  { session: { ...session, seq: 1 }, startMs: day + 1000 },
);

describe('a rehydrated call', () => {
  it('has the views, the tools that ran, and what the next call added', async () => {
    const store = await storeWith(asking, answering);
    const call = await rehydrate(asking.id, { store });
    expect(call.snapshot.call).toMatchObject({ api: 'openai.chat', requestModel: 'gpt-4o' });
    expect(call.messages).toMatchObject([{ role: 'user', text: question.content }]);
    expect(call.toolCalls.map(({ name, id }) => [name, id])).toEqual([
      ['get_weather', 'call_0_Oslo'],
      ['get_weather', 'call_1_Rome'],
    ]);
    expect(call.toolExecutions).toMatchObject([
      { basis: 'inferred', name: 'get_weather', callId: 'call_0_Oslo', result: '-3', askedBy: asking.id },
      { basis: 'inferred', name: 'get_weather', callId: 'call_1_Rome', result: '14', askedBy: asking.id },
    ]);
    expect(call.nextMessages.map((message) => message.toolResult?.content)).toEqual(['-3', '14']);
    const last = await rehydrate(answering.id, { store });
    expect(last).toMatchObject({ toolExecutions: [], nextMessages: [] });
  });

  it('gives real Request and Response objects, fresh each time', async () => {
    const call = await rehydrate(asking);
    const request = call.request();
    expect(request).toBeInstanceOf(Request);
    expect([request.method, request.url]).toEqual(['POST', 'https://api.openai.com/v1/chat/completions']);
    expect(await request.json()).toEqual({ model: 'gpt-4o', messages: [question] });
    expect(await call.request().text()).toContain('Oslo');
    const response = call.response();
    expect([response.status, response.url, response.ok]).toEqual([200, request.url, true]);
    expect(await response.json()).toMatchObject({ id: 'chatcmpl-1' });
    expect(await call.response().text()).toContain('chatcmpl-1');
  });

  it('streams the recorded chunks, decoded as fetch decodes them, with the header kept', async () => {
    const text = chatStream('größer', '🚲');
    const plain = pieces(text, 11);
    const streamed = await rehydrate(recorded({ response: plain }));
    const seen: Uint8Array[] = [];
    for await (const chunk of streamed.response().body ?? []) seen.push(chunk);
    expect(seen).toEqual(plain);
    const encoded = await rehydrate(
      recorded({ response: pieces(gzipSync(text), 9), responseHeaders: [['Content-Encoding', 'gzip']] }),
    );
    expect(encoded.response().headers.get('content-encoding')).toBe('gzip');
    expect(await encoded.response().text()).toBe(text);
    const unknown = await rehydrate(
      recorded({ response: ['as is'], responseHeaders: [['content-encoding', 'x-odd']] }),
    );
    expect(await unknown.response().text()).toBe('as is');
  });

  it('has each attempt, and says what is not there', async () => {
    const call = await rehydrate(
      recordedCall({
        attempts: [
          { status: 500, response: ['no'] },
          { ending: 'reset', stage: 'response_head' },
        ],
      }),
    );
    expect(call.response(0).status).toBe(500);
    expect(() => call.response()).toThrow(expect.objectContaining({ code: 'OBX_REPLAY_NO_RESPONSE' }));
    expect(() => call.response(7)).toThrow(expect.objectContaining({ code: 'OBX_REPLAY_NO_EXCHANGE' }));
  });

  it('stays odd where the wire was odd: a status that fetch would not make, a null body, a bad header', async () => {
    const odd = await rehydrate(recorded({ status: 799, statusText: 'Strange', response: ['x'] }));
    expect(odd.response().status).toBe(799);
    const empty = await rehydrate(recorded({ status: 204, response: [] }));
    expect(empty.response().body).toBeNull();
    const bad = await rehydrate(
      recorded({
        responseHeaders: [
          ['x-a', 'b\r\nset-cookie: c'],
          ['x-ok', '1'],
        ],
        response: ['x'],
      }),
    );
    expect([...bad.response().headers]).toEqual([['x-ok', '1']]);
  });

  it('is refused when its digest is wrong', async () => {
    const changed = structuredClone(asking);
    (changed.exchanges[0] as { request: { method: string } }).request.method = 'PUT';
    await expect(rehydrate(changed)).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_DIGEST' });
  });
});
