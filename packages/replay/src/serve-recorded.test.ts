import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import type { Snapshot } from '@orangebox/schema';
import { serveRecorded } from './serve-recorded.ts';
import type { RecordedServer, ServeEvent } from './types.ts';
import { chatStream, pieces, recorded, recordedCall, storeWith } from './testing/recordings.ts';
import { ANSWER } from '../../store/src/testing/write-segments.ts';

const servers: RecordedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(
  reference: Snapshot | string,
  ...snapshots: Snapshot[]
): Promise<RecordedServer & { events: ServeEvent[] }> {
  const events: ServeEvent[] = [];
  const store = await storeWith(...snapshots);
  const server = await serveRecorded(reference, { store, onRequest: (event) => events.push(event) });
  servers.push(server);
  return { ...server, events };
}

interface RawAnswer {
  status: number;
  rawHeaders: string[];
  chunks: Buffer[];
  error?: string;
}

/** A client that shows bytes and chunks as they come. */
function raw(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      url,
      { method: options.method ?? 'POST', headers: options.headers ?? {} },
      (response) => {
        const answer: RawAnswer = { status: response.statusCode ?? 0, rawHeaders: response.rawHeaders, chunks: [] };
        response.on('data', (chunk: Buffer) => answer.chunks.push(chunk));
        response.on('error', (error) => {
          answer.error = (error as { code?: string }).code ?? error.message;
        });
        response.once('close', () => resolve(answer));
      },
    );
    outgoing.once('error', reject);
    outgoing.end(options.body);
  });
}

const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] });

describe('an endpoint for one call', () => {
  it('gives a real SDK the recorded answer once, then says that it was given', async () => {
    const server = await serve(recorded());
    const client = new OpenAI({ apiKey: 'x', baseURL: server.baseUrl, maxRetries: 2 });
    const parameters = JSON.parse(body) as OpenAI.ChatCompletionCreateParamsNonStreaming;
    expect(await client.chat.completions.create(parameters)).toEqual(JSON.parse(ANSWER));
    expect(server.stats()).toEqual({ served: 1, remaining: 0, misses: 0 });
    await expect(client.chat.completions.create(parameters)).rejects.toMatchObject({
      status: 404,
      code: 'OBX_REPLAY_MISS',
      message: expect.stringContaining('given already'),
    });
    expect(server.events.map(({ kind }) => kind)).toEqual(['served', 'miss']);
  });

  it('gives the recorded bytes, encoded as they were, in the recorded chunks, headers in order with duplicates', async () => {
    const chunks = pieces(gzipSync(ANSWER), 40);
    const server = await serve(
      recorded({
        responseHeaders: [
          ['X-First', '1'],
          ['Content-Encoding', 'gzip'],
          ['x-twice', 'a'],
          ['x-twice', 'b'],
          ['Transfer-Encoding', 'chunked'],
        ],
        response: chunks,
      }),
    );
    const answer = await raw(`${server.url}/v1/chat/completions`, { body });
    expect(answer.chunks.map((chunk) => chunk.length)).toEqual(chunks.map((chunk) => chunk.length));
    expect(Buffer.concat(answer.chunks).equals(gzipSync(ANSWER))).toBe(true);
    expect(answer.rawHeaders.slice(0, 8)).toEqual([
      'X-First',
      '1',
      'Content-Encoding',
      'gzip',
      'x-twice',
      'a',
      'x-twice',
      'b',
    ]);
  });

  it('gives attempts in order, and breaks off where the recording breaks off', async () => {
    const server = await serve(
      recordedCall({
        attempts: [
          { status: 503, response: ['wait'] },
          { ending: 'reset', stage: 'response_head' },
          { status: 200, response: ['some', 'thing'], ending: 'cut', stage: 'response_body' },
        ],
      }),
    );
    const url = `${server.url}/v1/chat/completions`;
    expect((await raw(url, { body })).status).toBe(503);
    await expect(raw(url, { body })).rejects.toMatchObject({ code: 'ECONNRESET' });
    const cut = await raw(url, { body });
    expect(Buffer.concat(cut.chunks).toString()).toBe('something');
    expect(cut.error).toBe('ECONNRESET');
  });

  it('leads no client elsewhere: of followed redirects it gives the last answer', async () => {
    const server = await serve(
      recordedCall({
        attemptsBasis: 'redirect',
        attempts: [
          { status: 308, responseHeaders: [['location', 'https://evil.example/']], response: [] },
          { url: 'https://evil.example/', status: 200 },
        ],
      }),
    );
    const answer = await raw(`${server.url}/v1/chat/completions`, { body });
    expect(answer.status).toBe(200);
    expect(server.stats()).toEqual({ served: 1, remaining: 0, misses: 0 });
  });
});

describe('matching', () => {
  const tokened = JSON.stringify({ model: 'm', key: 'pre-{{secret:api_key}}-post', list: [1.0, { a: null, b: 'x' }] });

  it('forgives key order and replaced secrets, and says that it did', async () => {
    const server = await serve(recorded({ requestBody: tokened }));
    const other = '{"list":[1,{"b":"x","a":null}],"key":"pre-sk-live-123-post","model":"m"}';
    expect((await raw(`${server.url}/v1/chat/completions`, { body: other })).status).toBe(200);
    expect(server.events).toMatchObject([{ kind: 'served', rung: 'canonical' }]);
  });

  it('forgives nothing else', async () => {
    const server = await serve(recorded({ requestBody: tokened }));
    const others = [
      tokened.replace('post', 'posh'),
      tokened.replace('1', '2'),
      tokened.replace('null', 'false'),
      tokened.replace('"model":"m",', ''),
      tokened.replace('"m"', '"m","extra":1'),
      'no json',
      '',
    ];
    for (const other of others)
      expect((await raw(`${server.url}/v1/chat/completions`, { body: other })).status).toBe(404);
    expect((await raw(`${server.url}/v1/completions`, { body: tokened })).status).toBe(404);
    expect((await raw(`${server.url}/v1/chat/completions?x=1`, { body: tokened })).status).toBe(404);
    expect((await raw(`${server.url}/v1/chat/completions`, { body: tokened, method: 'PUT' })).status).toBe(404);
    expect(server.stats()).toEqual({ served: 0, remaining: 1, misses: 10 });
    expect(server.events.map((event) => ('reason' in event ? event.reason : ''))).toContainEqual(
      expect.stringContaining('equals none of the 1 recorded'),
    );
  });

  it('takes an exact request before one that differs in form', async () => {
    const a = recorded({ requestBody: '{"a":1,"b":2}', response: ['A'] }, { traceId: 'c'.repeat(32), startMs: 1e12 });
    const b = recorded(
      { requestBody: '{"b":2,"a":1}', response: ['B'] },
      { traceId: 'c'.repeat(32), startMs: 1e12 + 1 },
    );
    const server = await serve('c'.repeat(32), a, b);
    const ask = async (text: string): Promise<string> =>
      Buffer.concat((await raw(`${server.url}/v1/chat/completions`, { body: text })).chunks).toString();
    expect(await ask('{"b":2,"a":1}')).toBe('B');
    expect(await ask('{"b":2,"a":1}')).toBe('A');
  });
});

it('serves a whole session, equal requests in recorded order', async () => {
  const session = { id: 'sess', seq: 0, basis: 'declared' as const };
  const calls = ['one', 'two', 'three'].map((text, i) =>
    recorded(
      { response: pieces(chatStream(text), 30), responseHeaders: [['content-type', 'text/event-stream']] },
      { session: { ...session, seq: i }, startMs: 1_764_500_000_000 + i },
    ),
  );
  const server = await serve('sess', ...calls);
  const answers: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const answer = await raw(`${server.url}/v1/chat/completions`, { body });
    answers.push(Buffer.concat(answer.chunks).toString());
  }
  expect(answers).toEqual(['one', 'two', 'three'].map((text) => chatStream(text)));
  expect(server.stats().remaining).toBe(0);
});

describe('who is answered', () => {
  it('refuses other host names, web pages and other addresses', async () => {
    const server = await serve(recorded());
    const url = `${server.url}/v1/chat/completions`;
    for (const headers of [
      { host: 'evil.example' },
      { host: `evil.example:${server.port}` },
      { host: '127.0.0.1' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[]) {
      const answer = await raw(url, { body, headers });
      expect([headers, answer.status]).toEqual([headers, 403]);
      expect(answer.rawHeaders.join().toLowerCase()).not.toContain('access-control');
    }
    expect((await raw(url, { method: 'OPTIONS', headers: { origin: 'http://localhost' } })).status).toBe(403);
    expect(server.stats()).toMatchObject({ served: 0, remaining: 1 });
    expect((await raw(url, { body, headers: { host: `localhost:${server.port}` } })).status).toBe(200);
  });
});
