import { type AssembledExchanges, describeCall, type LargeBody } from '@orangebox/codec';
import type { Body, Exchange } from '@orangebox/schema';
import { expect, test } from 'vitest';
import { exchangesForViews, VIEWED_BODY_MAX_BYTES, VIEWED_STREAM_MAX_BYTES } from './bounded-views.ts';

/** An answer as it is assembled: one above a megabyte is at hand in pieces only. */
function streamed(content: string | Buffer): AssembledExchanges {
  const all = Buffer.from(content);
  const isText = typeof content === 'string';
  const sizeBytes = all.length;
  const body: Body = isText
    ? { form: 'text', sizeBytes, text: content }
    : { form: 'base64', sizeBytes, base64: all.toString('base64') };
  const large: LargeBody = {
    sizeBytes,
    isText,
    sha256: '',
    jsonBytes: 0,
    *pieces() {
      // The same memory for each, as where they are read from a file.
      const piece = Buffer.alloc(65_537);
      for (let at = 0; at < all.length; at += piece.length) yield piece.subarray(0, all.copy(piece, 0, at));
    },
  };
  const exchange: Exchange = {
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
      body,
      chunks: [],
    },
    ending: 'complete',
    stage: 'done',
  };
  return { exchanges: [exchange], bytes: new Map([[body, sizeBytes < 2 ** 20 ? all : large]]) };
}

const event = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', model: 'm-1', choices: [{ index: 0, delta: { content } }], ...more })}\n\n`;
const of = exchangesForViews;
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
  expect(textOf(exchange.exchanges).length).toBeGreaterThan(2 * VIEWED_STREAM_MAX_BYTES);
});

test('small bodies are left as they are', () => {
  const exchange = streamed(event('a'));
  expect(of(exchange)).toBe(exchange.exchanges);
});

test('other bodies are read whole: streams of some megabytes, long JSON, packed ones', () => {
  const json = `{"choices":[{"message":{"content":"${'x'.repeat(VIEWED_STREAM_MAX_BYTES)}ä"}}]}`;
  for (const exchange of [
    streamed(event('ä'.repeat(2 ** 20))),
    streamed(json),
    streamed(Buffer.alloc(2 ** 23, 0xff)),
  ]) {
    expect(of(exchange)[0]?.response?.body).toEqual(exchange.exchanges[0]?.response?.body);
  }
});

test('of what is longer than any provider takes, the beginning is looked at', () => {
  expect(textOf(of(streamed(`{"a":"${'x'.repeat(VIEWED_BODY_MAX_BYTES)}"}`))).length).toBe(VIEWED_STREAM_MAX_BYTES / 2);
});

test('one event without end is cut', () => {
  expect(textOf(of(streamed(`data: ${'x'.repeat(2 * VIEWED_STREAM_MAX_BYTES)}`))).length).toBe(
    VIEWED_STREAM_MAX_BYTES / 2,
  );
});
