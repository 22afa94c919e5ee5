/** Exchanges for tests. */
import type { Exchange, Json } from '@orangebox/schema';
import { encodeBody } from './body.ts';
import { utf8 } from './bytes.ts';

/** What a test exchange is made of; bodies are JSON unless they are strings. */
export interface TestExchange {
  url?: string;
  method?: string;
  request?: Json;
  requestType?: string;
  response?: Json;
  responseType?: string;
  status?: number;
}

/** An exchange with the given bodies. */
export function testExchange(parts: TestExchange): Exchange {
  const { url = 'https://models.test/v1/chat/completions', method = 'POST', status = 200 } = parts;
  const bytes = (value: Json | undefined): Uint8Array =>
    value === undefined ? new Uint8Array(0) : utf8(typeof value === 'string' ? value : JSON.stringify(value));
  return {
    attempt: 0,
    startUnixNano: '1700000000000000000',
    endOffsetNano: '1000',
    client: 'undici',
    request: {
      method,
      url,
      headers: [['Content-Type', parts.requestType ?? 'application/json']],
      body: encodeBody(bytes(parts.request)),
      chunks: [],
      sent: true,
    },
    response: {
      status,
      statusText: '',
      headers: [['Content-Type', parts.responseType ?? 'application/json']],
      headOffsetNano: '500',
      body: encodeBody(bytes(parts.response)),
      chunks: [],
    },
    ending: 'complete',
    stage: 'done',
  };
}

/** Server-sent events with JSON data, closed by `[DONE]`. */
export function sseOf(events: readonly Json[], end = 'data: [DONE]\n\n'): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + end;
}
