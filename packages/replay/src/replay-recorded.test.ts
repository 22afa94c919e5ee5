import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { replayRecorded } from './replay-recorded.ts';
import { chatStream, pieces, recorded, recordedCall, storeWith } from './testing/recordings.ts';
import { ANSWER } from '../../store/src/testing/write-segments.ts';

// The classes of the build that a replay loads; the ESM build has its own.
const { APIConnectionError, APIConnectionTimeoutError, APIUserAbortError, RateLimitError } = createRequire(
  import.meta.url,
)('openai') as typeof import('openai');

const streamRequest = JSON.stringify({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Say hello' }],
  stream: true,
});
const eventStream: [string, string][] = [['content-type', 'text/event-stream; charset=utf-8']];

describe('replaying through the openai SDK', () => {
  it('gives what the SDK makes of the recorded bytes, says so, and opens no socket', async () => {
    const replay = await replayRecorded(recorded());
    expect(replay.via).toMatchObject({ kind: 'sdk', name: 'openai', version: expect.stringMatching(/^6\./) });
    expect(replay.result).toEqual(JSON.parse(ANSWER));
    expect(replay).toMatchObject({ requestMatch: 'exact', refusedSockets: 0 });
    expect(replay.served).toEqual([{ attempt: 0, status: 200, sizeBytes: ANSWER.length, chunks: 1 }]);
  });

  it('streams the recorded chunks, also those split inside a character', async () => {
    const response = pieces(chatStream('Grüße ', 'aus ', 'Zürich 🚲'), 7);
    const seen: unknown[] = [];
    const replay = await replayRecorded(
      recorded({ requestBody: streamRequest, responseHeaders: eventStream, response }),
      { onEvent: (event) => seen.push(event) },
    );
    expect(replay.error).toBeUndefined();
    expect(replay.events).toHaveLength(5);
    expect(seen).toEqual(replay.events);
    const text = (replay.events as { choices: { delta: { content?: string } }[] }[])
      .map((event) => event.choices[0]?.delta.content ?? '')
      .join('');
    expect(text).toBe('Grüße aus Zürich 🚲');
    expect(replay.served[0]?.chunks).toBe(response.length);
  });

  it('decodes what is stored compressed, and leaves alone what is stored decoded', async () => {
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(ANSWER)],
      ['br', brotliCompressSync(ANSWER)],
    ] as const) {
      const responseHeaders: [string, string][] = [
        ['content-type', 'application/json'],
        ['content-encoding', encoding],
      ];
      const encoded = await replayRecorded(recorded({ responseHeaders, response: pieces(bytes, 5) }));
      expect(encoded.result).toEqual(JSON.parse(ANSWER));
      const storedDecoded = { contentEncoding: encoding, wireSizeBytes: bytes.length };
      const decoded = await replayRecorded(recorded({ responseHeaders, response: [ANSWER], storedDecoded }));
      expect(decoded.result).toEqual(JSON.parse(ANSWER));
    }
  });

  it('lets the SDK retry as it did, without waiting as long', async () => {
    const attempts = [
      { status: 429, responseHeaders: [['retry-after', '30']] as [string, string][], response: ['{"error":{}}'] },
      { status: 500, response: ['oops'] },
      { status: 200 },
    ];
    const replay = await replayRecorded(recordedCall({ attempts }));
    expect(replay.result).toEqual(JSON.parse(ANSWER));
    expect(replay.served.map((served) => served.status)).toEqual([429, 500, 200]);
  });

  it('reproduces the error of a failed call', async () => {
    const limited = await replayRecorded(
      recorded({ status: 429, response: ['{"error":{"message":"slow down","code":"rate_limit_exceeded"}}'] }),
    );
    expect(limited.error).toBeInstanceOf(RateLimitError);
    expect(limited.error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    const refused = await replayRecorded(
      recorded({
        ending: 'connect_failed',
        stage: 'connect',
        requestBody: '{"model":"m","messages":[]}',
        error: { stage: 'connect', type: 'Error', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 127.0.0.1:9' },
      }),
    );
    expect(refused.error).toBeInstanceOf(APIConnectionError);
    expect(refused.error).toMatchObject({ cause: { cause: { code: 'ECONNREFUSED' } } });
    const unknown = await replayRecorded(
      recorded({
        ending: 'connect_failed',
        stage: 'connect',
        error: { stage: 'connect', type: 'Error', code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND nohost.invalid' },
      }),
    );
    expect(unknown.error).toBeInstanceOf(APIConnectionError);
    expect(unknown.requestMatch).toBe('canonical');
  });

  it('fails a stream that was cut where it was cut, after the same events', async () => {
    const whole = chatStream('one', 'two', 'three');
    const replay = await replayRecorded(
      recorded({
        requestBody: streamRequest,
        status: 200,
        responseHeaders: eventStream,
        response: pieces(whole.slice(0, whole.indexOf('three')), 50),
        ending: 'cut',
        stage: 'response_body',
        error: { stage: 'response_body', type: 'SocketError', code: 'UND_ERR_SOCKET', message: 'other side closed' },
      }),
    );
    expect(replay.events).toHaveLength(3);
    expect(replay.error).toMatchObject({ message: 'terminated', cause: { code: 'UND_ERR_SOCKET' } });
  });

  it('aborts where the caller aborted, and times out where the SDK did', async () => {
    const ending = { ending: 'caller_abort' as const, stage: 'response_head' as const };
    const aborted = await replayRecorded(recorded(ending));
    expect(aborted.error).toBeInstanceOf(APIUserAbortError);
    const timedOut = await replayRecorded(recordedCall({ attempts: [ending, ending] }));
    expect(timedOut.error).toBeInstanceOf(APIConnectionTimeoutError);
    const timer = await replayRecorded(
      recorded({
        ending: 'timeout',
        stage: 'response_head',
        error: { stage: 'response_head', type: 'AbortError', message: 'This operation was aborted' },
      }),
    );
    expect(timer.error).toBeInstanceOf(APIConnectionTimeoutError);
  });

  it('ends quietly where the program stopped reading', async () => {
    const whole = chatStream('one', 'two', 'three');
    const replay = await replayRecorded(
      recorded({
        requestBody: streamRequest,
        status: 200,
        responseHeaders: eventStream,
        response: [whole.slice(0, whole.indexOf('data', whole.indexOf('two')))],
        ending: 'caller_stopped_reading',
        stage: 'response_body',
      }),
    );
    expect(replay.events).toHaveLength(3);
    expect(replay.error).toBeUndefined();
  });

  it('makes responses, completions and embeddings calls by their own methods, and decodes embeddings', async () => {
    const vector = Buffer.from(new Float32Array([0.5, -2]).buffer).toString('base64');
    const embeddings = await replayRecorded(
      recorded({
        url: 'https://api.openai.com/v1/embeddings',
        requestBody: '{"model":"text-embedding-3-small","input":"x","encoding_format":"base64"}',
        response: [JSON.stringify({ object: 'list', data: [{ index: 0, embedding: vector }], model: 'm' })],
      }),
    );
    expect(embeddings).toMatchObject({ requestMatch: 'exact', result: { data: [{ embedding: [0.5, -2] }] } });
    const output = [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] },
    ];
    const responses = await replayRecorded(
      recorded({
        url: 'https://api.openai.com/v1/responses',
        requestBody: '{"model":"gpt-5","input":"x"}',
        response: [JSON.stringify({ id: 'resp_1', object: 'response', output })],
      }),
    );
    expect(responses).toMatchObject({ requestMatch: 'exact', result: { output_text: 'Hi' } });
    const azure = await replayRecorded(
      recorded({ url: 'https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21' }),
    );
    expect(azure).toMatchObject({ requestMatch: 'exact', via: { kind: 'sdk' } });
  });

  it('says when the request that the client makes differs in form only', async () => {
    const replay = await replayRecorded(
      recorded({
        requestBody: '{ "messages": [{"role":"user","content":"Hi"}], "model": "gpt-4o-mini", "temperature": 1.0 }',
      }),
    );
    expect(replay.requestMatch).toBe('canonical');
  });

  it('follows recorded redirects within one request, as fetch does', async () => {
    const replay = await replayRecorded(
      recordedCall({
        attemptsBasis: 'redirect',
        attempts: [
          { status: 307, responseHeaders: [['location', 'https://evil.example/v1/chat/completions']], response: [] },
          { url: 'https://evil.example/v1/chat/completions', status: 200 },
        ],
      }),
    );
    expect(replay).toMatchObject({ result: JSON.parse(ANSWER), refusedSockets: 0, requestMatch: 'exact' });
    expect(replay.served).toHaveLength(1);
  });
});

describe('replaying with plain fetch', () => {
  it('is said, with the reason, where no SDK is found', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'obx-'));
    try {
      const replay = await replayRecorded(recorded(), { cwd });
      expect(replay.via).toMatchObject({ kind: 'fetch', reason: expect.stringContaining('no openai') });
      expect(replay.result).toEqual(JSON.parse(ANSWER));
      await expect(replayRecorded(recorded(), { cwd, via: 'sdk' })).rejects.toMatchObject({
        code: 'OBX_REPLAY_NO_SDK',
      });
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });

  it('gives the events of a stream of any provider, and its other bodies', async () => {
    const events = await replayRecorded(
      recorded({
        url: 'https://api.anthropic.com/v1/messages',
        responseHeaders: eventStream,
        response: ['event: message_start\ndata: {"type":"message_start"}\n\n', 'event: message_stop\ndata: {}\n\n'],
      }),
    );
    expect(events.via.kind).toBe('fetch');
    expect(events.events).toEqual([
      { event: 'message_start', data: { type: 'message_start' } },
      { event: 'message_stop', data: {} },
    ]);
    const audio = await replayRecorded(
      recorded({
        url: 'https://api.openai.com/v1/audio/speech',
        responseHeaders: [['content-type', 'audio/mpeg']],
        response: [new Uint8Array([255, 251, 0])],
      }),
    );
    expect(audio.result).toEqual(new Uint8Array([255, 251, 0]));
  });

  it('is used when asked for, with retries', async () => {
    const replay = await replayRecorded(
      recordedCall({ attempts: [{ status: 503, response: ['no'] }, { status: 200 }] }),
      { via: 'fetch' },
    );
    expect(replay).toMatchObject({ via: { kind: 'fetch', reason: 'asked for' }, result: JSON.parse(ANSWER) });
    expect(replay.served).toHaveLength(2);
  });
});

describe('the guard against sockets', () => {
  it('refuses and counts what a client opens besides, and only within the replay', async () => {
    const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as net.AddressInfo;
    const connect = (): Promise<string> =>
      new Promise((resolve) => {
        const socket = net.connect(port, '127.0.0.1');
        socket.once('connect', () => resolve('connected'));
        socket.once('error', (error) => resolve((error as { code?: string }).code ?? 'error'));
      });
    const inside: Promise<unknown>[] = [];
    const outside: Promise<string>[] = [];
    let leave: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const ready = asked.then(() => outside.push(connect()));
    const replay = await replayRecorded(
      recorded({ requestBody: streamRequest, responseHeaders: eventStream, response: [chatStream('a')] }),
      {
        onEvent: () => {
          if (inside.length > 0) return;
          inside.push(
            connect(),
            fetch(`http://127.0.0.1:${port}`).catch((error: unknown) => error),
          );
          leave?.();
        },
      },
    );
    await ready;
    const [socket, fetched] = await Promise.all(inside);
    expect(socket).toBe('OBX_REPLAY_SOCKET');
    expect(fetched).toBeInstanceOf(TypeError);
    expect(await outside[0]).toBe('connected');
    expect(replay.refusedSockets).toBe(2);
    expect(await connect()).toBe('connected');
    await new Promise((resolve) => server.close(resolve));
  });
});

it('takes a reference, and says when it has no answer to replay', async () => {
  const call = recorded();
  const store = await storeWith(call);
  expect(await replayRecorded('last', { store })).toMatchObject({ requestMatch: 'exact' });
  expect(await replayRecorded(call.id.slice(0, 6), { store })).toMatchObject({ requestMatch: 'exact' });
  await expect(replayRecorded('0123456789abcdef', { store })).rejects.toMatchObject({ code: 'OBX_REF_UNKNOWN' });
  await expect(replayRecorded('last')).rejects.toMatchObject({ code: 'OBX_REPLAY_NO_STORE' });
});
