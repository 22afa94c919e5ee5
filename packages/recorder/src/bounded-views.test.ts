import { describeCall } from '@orangebox/codec';
import type { Exchange } from '@orangebox/schema';
import { expect, test } from 'vitest';
import { exchangesForViews, VIEWED_STREAM_MAX_BYTES } from './bounded-views.ts';

function streamed(text: string, form: 'text' | 'base64' = 'text'): Exchange {
  const sizeBytes = Buffer.byteLength(text);
  return {
    attempt: 0,
    startUnixNano: '1',
    endOffsetNano: '2',
    client: 'undici',
    request: {
      method: 'POST',
      url: 'https://api.example.test/v1/chat/completions',
      headers: [],
      body: { form: 'empty', sizeBytes: 0 },
      chunks: [],
      sent: true,
    },
    response: {
      status: 200,
      statusText: '',
      headers: [['content-type', 'text/event-stream']],
      headOffsetNano: '1',
      body:
        form === 'text' ? { form, sizeBytes, text } : { form, sizeBytes, base64: Buffer.from(text).toString('base64') },
      chunks: [],
    },
    ending: 'complete',
    stage: 'done',
  };
}

const event = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', model: 'm-1', choices: [{ index: 0, delta: { content } }], ...more })}\n\n`;
const of = (exchange: Exchange): readonly Exchange[] => exchangesForViews({ exchanges: [exchange], bytes: new Map() });
const textOf = ([exchange]: readonly Exchange[]): string => {
  const body = exchange?.response?.body;
  return body?.form === 'text' ? body.text : '';
};

test('a long stream is read by its beginning and its end, in whole events', () => {
  const middle = event('x'.repeat(1000)).repeat(Math.ceil((2 * VIEWED_STREAM_MAX_BYTES) / 1000));
  const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };
  const exchange = streamed(`${event('first')}${middle}${event('last', { usage })}data: [DONE]\n\n`);
  const short = of(exchange);
  expect(textOf(short).length).toBeLessThan(VIEWED_STREAM_MAX_BYTES);
  for (const line of textOf(short).split('\n\n')) if (line.startsWith('data: {')) JSON.parse(line.slice(6));
  const { response } = describeCall({ exchanges: short }, () => undefined);
  expect(response).toMatchObject({ id: 'c-1', model: 'm-1', usage: { inputTokens: 3, outputTokens: 9 } });
  expect(JSON.stringify(response.choices)).toMatch(/first.*last/);
  // The recording itself is what it was.
  expect(textOf([exchange]).length).toBeGreaterThan(2 * VIEWED_STREAM_MAX_BYTES);
});

test('other bodies are read whole: short streams, long JSON, packed ones', () => {
  const json = `{"choices":[{"message":{"content":"${'x'.repeat(VIEWED_STREAM_MAX_BYTES)}"}}]}`;
  for (const exchange of [streamed(event('a')), streamed(json), streamed(event('a'.repeat(2 ** 23)), 'base64')]) {
    expect(of(exchange)[0]).toBe(exchange);
  }
});

test('one event without end is cut', () => {
  expect(textOf(of(streamed(`data: ${'x'.repeat(2 * VIEWED_STREAM_MAX_BYTES)}`))).length).toBe(
    VIEWED_STREAM_MAX_BYTES / 2,
  );
});
