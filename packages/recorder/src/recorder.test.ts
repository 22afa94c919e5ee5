import { statSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { decodeBody } from '@orangebox/codec';
import { afterEach, describe, expect, it } from 'vitest';
import {
  answer,
  bytes,
  chatRequest,
  chatResponse,
  openExchange,
  play,
  requestText,
  responseText,
  segmentPaths,
  snapshotOf,
  type TestRecorder,
  testRecorder,
} from './testing/scripted-exchange.ts';

let open: TestRecorder[] = [];
const start: typeof testRecorder = (...args) => {
  const made = testRecorder(...args);
  open.push(made);
  return made;
};
afterEach(() => {
  for (const made of open) made.dispose();
  open = [];
});

describe('a simple call', () => {
  it('comes back byte for byte, under the digest and key that were promised', () => {
    const box = start();
    const request = chatRequest([{ role: 'user', content: 'grüße' }]);
    const response = chatResponse('hallo 😀');
    const middle = response.length - 60;
    play(box.recorder, {
      requestChunks: [request.subarray(0, 50), request.subarray(50)],
      responseChunks: [response.subarray(0, middle), response.subarray(middle)],
    });
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    const [call] = records.calls;
    const snapshot = snapshotOf(records, call);
    expect(snapshot.digest).toBe(call?.digest);
    expect(call?.key).toMatch(new RegExp(`/${call?.trace.spanId}/${call?.digest.slice(0, 16)}$`));
    expect(call?.fidelity).toEqual({ level: 'exact' });
    expect(decodeBody(snapshot.exchanges[0]!.request.body)).toEqual(request);
    expect(decodeBody(snapshot.exchanges[0]!.response!.body)).toEqual(response);
    expect(snapshot.exchanges[0]?.response?.chunks.map((chunk) => chunk.sizeBytes)).toEqual([middle, 60]);
    expect(call?.summary).toMatchObject({
      operation: 'chat',
      api: 'openai.chat',
      model: 'gpt-test',
      status: 200,
      inputTokens: 3,
      outputTokens: 4,
      attempts: 1,
    });
    expect(call?.spans).toHaveLength(1);
    expect(box.warnings).toEqual([]);
    expect(box.recorder.stats()).toMatchObject({ calls: 1, open: 0, heldBytes: 0, faults: {} });
  });

  it('is finished without anyone asking, after the program had its answer', async () => {
    const box = start();
    play(box.recorder);
    expect(box.recorder.stats().calls).toBe(0);
    while (box.recorder.stats().calls === 0) await new Promise(setImmediate);
    expect(box.read().calls).toHaveLength(1);
  });

  it('writes the request before the turn ends and the answer once per turn', async () => {
    const box = start();
    const exchange = openExchange(box.recorder);
    const requested = box.read();
    expect(requested.open[0]?.requestEnd).toBeDefined();
    answer(exchange);
    expect(box.read().open[0]?.responseHead).toBeUndefined();
    await new Promise(setImmediate);
    expect(box.read().exchanges.get(1)?.end?.ending).toBe('complete');
  });

  it('makes no file before the first exchange, and private ones then', () => {
    const box = start();
    expect(() => segmentPaths(box.dir)).toThrow();
    play(box.recorder);
    expect(statSync(box.dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(box.dir, 'segments')).mode & 0o777).toBe(0o700);
    const [path = ''] = segmentPaths(box.dir);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(box.dir, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('may come in thousands of chunks in one turn', () => {
    const box = start();
    const parts = Array.from({ length: 5000 }, (_, i) => bytes(`${i},`));
    play(box.recorder, { responseChunks: parts });
    const records = box.finish();
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.exchanges[0]?.response?.chunks).toHaveLength(5000);
    expect(responseText(snapshot)).toBe(parts.map((_, i) => `${i},`).join(''));
    expect(snapshot.digest).toBe(records.calls[0]?.digest);
    expect(box.warnings).toEqual([]);
  });

  it('keeps its own copy when the program writes to its buffers afterwards', () => {
    const box = start();
    const request = chatRequest([{ role: 'user', content: 'before' }]);
    const exchange = openExchange(box.recorder, { requestChunks: [request] });
    request.fill(0x78);
    answer(exchange);
    const records = box.finish();
    expect(requestText(snapshotOf(records, records.calls[0]))).toContain('before');
  });
});

describe('secrets', () => {
  it('never reach the disk: environment values, headers, URLs, bodies and errors', () => {
    const secret = 'sk-very-secret-value-0123456789';
    const box = start({ MY_API_KEY: secret });
    const body = chatResponse(`your key is ${secret}`);
    const at = new TextDecoder().decode(body).indexOf(secret) + 7;
    play(box.recorder, {
      url: `https://api.example.test/v1/chat/completions?api_key=${secret}`,
      requestHeaders: [['Authorization', `Bearer ${secret}`]],
      requestChunks: [chatRequest([{ role: 'user', content: `use ${secret}` }])],
      responseChunks: [body.subarray(0, at), body.subarray(at)],
      end: { ending: 'cut', stage: 'response_body', error: new Error(`bad ${secret}`) },
    });
    const records = box.finish();
    for (const path of segmentPaths(box.dir)) expect(readFileSync(path, 'latin1')).not.toContain(secret);
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(responseText(snapshot)).toContain('your key is {{secret:');
    expect(snapshot.redactions.map((r) => r.where).sort()).toEqual(
      expect.arrayContaining(['error', 'header:authorization', 'request.body', 'response.body', 'url']),
    );
    expect(snapshot.digest).toBe(records.calls[0]?.digest);
  });

  it('are replaced in the names and tags that a program gives', () => {
    const secret = 'a-long-secret-of-the-environment';
    const box = start({ SOME_TOKEN: secret });
    const session = { id: `s ${secret}`, userId: secret, metadata: { tag: [secret] } };
    const scope = [{ kind: 'agent' as const, name: `agent ${secret}`, id: '1' }];
    play(box.recorder, { context: { session, scope } });
    const records = box.finish();
    for (const path of segmentPaths(box.dir)) expect(readFileSync(path, 'latin1')).not.toContain(secret);
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.metadata).toEqual({ tag: [expect.stringMatching(/^\{\{secret:/)] });
    expect(snapshot.redactions.map((r) => r.where)).toContain('metadata');
  });

  it('are replaced in what a stream spells letter by letter, outside of its bytes', () => {
    const secret = 'a-long-secret-of-the-environment';
    const env = { SOME_TOKEN: secret, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' };
    const box = start(env);
    const deltas = [...secret].map(
      (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
    );
    play(box.recorder, {
      requestChunks: [chatRequest([{ role: 'user', content: 'spell' }], { stream: true })],
      responseHeaders: [['content-type', 'text/event-stream']],
      responseChunks: [...deltas, 'data: [DONE]\n\n'].map(bytes),
    });
    const records = box.finish();
    const spans = JSON.stringify(records.calls[0]?.spans);
    expect(spans).not.toContain(secret);
    expect(spans).toContain('{{secret:');
    expect(records.calls[0]?.fidelity).toEqual({ level: 'exact' });
  });

  it('are searched in compressed bodies, which stay as received where clean', async () => {
    const secret = 'a-long-secret-of-the-environment';
    const box = start({ SOME_TOKEN: secret });
    const clean = gzipSync(chatResponse('nothing here'));
    const dirty = gzipSync(chatResponse(`it is ${secret}`));
    const headers: [string, string][] = [
      ['content-type', 'application/json'],
      ['content-encoding', 'gzip'],
    ];
    play(box.recorder, { responseHeaders: headers, responseChunks: [clean.subarray(0, 30), clean.subarray(30)] });
    play(box.recorder, { responseHeaders: headers, responseChunks: [dirty.subarray(0, 30), dirty.subarray(30)] });
    while (box.recorder.stats().calls < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const records = box.finish();
    const [first, second] = [1, 2].map((id) => records.calls.find((call) => call.exchangeIds[0] === id));
    const exact = snapshotOf(records, first).exchanges[0]?.response;
    expect(decodeBody(exact!.body)).toEqual(new Uint8Array(clean));
    expect(exact?.chunks.map((chunk) => chunk.sizeBytes)).toEqual([30, clean.length - 30]);
    const replaced = snapshotOf(records, second);
    expect(responseText(replaced)).toContain('it is {{secret:');
    expect(replaced.exchanges[0]?.response?.storedDecoded).toEqual({
      contentEncoding: 'gzip',
      wireSizeBytes: dirty.length,
    });
    expect(replaced.exchanges[0]?.response?.chunks.map((c) => c.wireSizeBytes)).toEqual([30, dirty.length - 30]);
    expect(first?.summary.outputTokens).toBe(4);
    expect(second?.summary.outputTokens).toBe(4);
    for (const path of segmentPaths(box.dir)) expect(readFileSync(path).includes(dirty)).toBe(false);
  });
});

describe('a conversation', () => {
  it('is carried on also while the answer before is still being decoded', async () => {
    const box = start();
    const asked = { role: 'user', content: 'hi' };
    const headers: [string, string][] = [
      ['content-type', 'application/json'],
      ['content-encoding', 'gzip'],
    ];
    play(box.recorder, {
      requestChunks: [chatRequest([asked])],
      responseHeaders: headers,
      responseChunks: [gzipSync(chatResponse('hello'))],
    });
    const messages = [asked, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'and now?' }];
    play(box.recorder, { requestChunks: [chatRequest(messages)], responseChunks: [chatResponse('bye')] });
    while (box.recorder.stats().calls < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const { calls } = box.finish();
    expect(calls.map((call) => call.exchangeIds[0])).toEqual([1, 2]);
    expect(calls[1]?.session?.id).toBe(calls[0]?.session?.id);
  });
});

describe('a body that cannot be searched decoded', () => {
  const secret = 'a-long-secret-of-the-environment';
  const receive = async (coding: [string, string], body: Uint8Array): Promise<ReturnType<TestRecorder['finish']>> => {
    const box = start({ SOME_TOKEN: secret });
    play(box.recorder, { responseHeaders: [['content-type', 'application/json'], coding], responseChunks: [body] });
    while (box.recorder.stats().calls < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    return box.finish();
  };
  const gzip: [string, string] = ['content-encoding', 'gzip'];
  const hidden = gzipSync(chatResponse(`it is ${secret}`));

  it.each<[string, [string, string], Uint8Array]>([
    ['a coding that the platform does not know', ['content-encoding', 'x-new'], hidden],
    ['a damaged one', gzip, Buffer.concat([hidden.subarray(0, -8), Buffer.alloc(8, 0xff)])],
    ['another than the stated one', ['content-encoding', 'br'], hidden],
  ])('is left out: %s', async (_, coding, body) => {
    const records = await receive(coding, body);
    const [call] = records.calls;
    expect(call?.fidelity).toEqual({ level: 'partial', reason: 'content_redacted' });
    expect(snapshotOf(records, call).exchanges[0]?.response?.body.form).toBe('empty');
    expect(snapshotOf(records, call).digest).toBe(call?.digest);
  });

  it.each<[string, [string, string], Uint8Array]>([
    ['plain text under a wrong label', gzip, chatResponse(`it is ${secret}`)],
    ['a transfer coding that no client undoes', ['transfer-encoding', 'gzip, chunked'], hidden],
    [
      'plain bytes after the coded ones',
      ['content-encoding', 'deflate'],
      Buffer.concat([deflateSync('{}'), bytes(secret)]),
    ],
  ])('is kept without the secret: %s', async (_, coding, body) => {
    const records = await receive(coding, body);
    expect(records.calls[0]?.fidelity).toEqual({ level: 'exact' });
    const { response } = snapshotOf(records, records.calls[0]).exchanges[0]!;
    expect(response?.body.form).toBe('text');
    expect(JSON.stringify(response)).not.toContain(secret);
  });

  it('is kept up to the limit of bodies when it decodes to more', async () => {
    const box = start({ SOME_TOKEN: secret, ORANGEBOX_MAX_BODY_BYTES: '2000' });
    const body = gzipSync(Buffer.concat([bytes(secret), Buffer.alloc(100_000, 'x')]));
    play(box.recorder, { responseHeaders: [gzip], responseChunks: [body] });
    while (box.recorder.stats().calls < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    const records = box.finish();
    expect(snapshotOf(records, records.calls[0]).exchanges[0]?.response?.body.sizeBytes).toBe(2000);
    expect(records.calls[0]?.fidelity).toEqual({ level: 'partial', reason: 'body_limit' });
  });
});

describe('a compressed request', () => {
  const headers: [string, string][] = [['content-encoding', 'gzip']];
  const send = (content: string): ReturnType<TestRecorder['finish']> => {
    const box = start({ SOME_TOKEN: 'a-long-secret-of-the-environment' });
    const request = gzipSync(chatRequest([{ role: 'user', content }]));
    play(box.recorder, { requestHeaders: headers, requestChunks: [request.subarray(0, 20), request.subarray(20)] });
    return box.finish();
  };

  it('is stored as sent, and understood', () => {
    const records = send('clean');
    const [call] = records.calls;
    expect(call?.summary.model).toBe('gpt-test');
    expect(call?.fidelity).toEqual({ level: 'exact' });
    const { request } = snapshotOf(records, call).exchanges[0]!;
    expect(request.chunks.map((chunk) => chunk.sizeBytes)[0]).toBe(20);
    expect(new TextDecoder().decode(gunzipSync(decodeBody(request.body)))).toContain('clean');
  });

  it('is left out where it has a secret in it', () => {
    const records = send('a-long-secret-of-the-environment');
    const [call] = records.calls;
    expect(call?.fidelity).toEqual({ level: 'partial', reason: 'content_redacted' });
    expect(snapshotOf(records, call).exchanges[0]?.request.body.form).toBe('empty');
    expect(snapshotOf(records, call).digest).toBe(call?.digest);
  });
});

describe('endings', () => {
  it('a call that is open when the process exits keeps what came', () => {
    const box = start();
    const exchange = openExchange(box.recorder);
    exchange.responseHead({ status: 200, statusText: 'OK', headers: [], atNano: 5, delivery: 1 });
    exchange.responseChunk(bytes('{"half":'), 6, 2);
    exchange.end({ ending: 'process_exit', stage: 'response_body' }, 7);
    const records = box.finish();
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.exchanges[0]).toMatchObject({ ending: 'process_exit', stage: 'response_body' });
    expect(responseText(snapshot)).toBe('{"half":');
    expect(records.closed).toMatchObject({ rotated: false });
  });

  it('a flush while a call is open leaves it open', () => {
    const box = start();
    const exchange = openExchange(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(box.read().open).toHaveLength(1);
    answer(exchange);
    const records = box.finish();
    expect(records.calls).toMatchObject([{ fidelity: { level: 'exact' }, summary: { ending: 'complete' } }]);
    expect(snapshotOf(records, records.calls[0]).digest).toBe(records.calls[0]?.digest);
  });

  it('an error is kept as facts', () => {
    const box = start();
    const error = Object.assign(new TypeError('no route'), { code: 'ECONNREFUSED' });
    play(box.recorder, { status: 0, end: { ending: 'connect_failed', stage: 'connect', error } });
    const records = box.finish();
    expect(snapshotOf(records, records.calls[0]).error).toMatchObject({
      stage: 'connect',
      type: 'TypeError',
      code: 'ECONNREFUSED',
      message: 'no route',
    });
  });

  it('later events of an ended exchange are ignored', () => {
    const box = start();
    const exchange = openExchange(box.recorder);
    answer(exchange);
    exchange.responseChunk(bytes('late'), 1, 99);
    exchange.end({ ending: 'error', stage: 'done' }, 5);
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    expect(records.calls[0]?.summary.ending).toBe('complete');
  });

  it('secrets in trailers and 1xx heads are replaced and counted, and a bounded number of such heads is kept', () => {
    const box = start();
    const exchange = openExchange(box.recorder);
    for (let i = 0; i < 150; i++) exchange.informational(103, [['x-api-key', 'a-secret-of-a-hint-1']]);
    const trailers: [string, string][] = [['x-auth-token', 'a-secret-of-a-trailer-2']];
    answer(exchange, { end: { ending: 'complete', stage: 'done', trailers } });
    const records = box.finish();
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.exchanges[0]?.response?.informational).toHaveLength(100);
    expect(snapshot.exchanges[0]?.response?.trailers?.[0]?.[1]).toMatch(/^\{\{secret:/);
    expect(JSON.stringify(snapshot)).not.toContain('a-secret-of');
    expect(snapshot.redactions.map(({ where }) => where)).toEqual(['header:x-api-key', 'header:x-auth-token']);
  });

  it('a secret in the reason of a status is replaced', () => {
    const box = start({ APP_TOKEN: 'token-in-a-reason-7' });
    const exchange = openExchange(box.recorder);
    exchange.responseHead({
      status: 403,
      statusText: 'token-in-a-reason-7 is not known',
      headers: [],
      atNano: 1,
      delivery: 1,
    });
    exchange.end({ ending: 'complete', stage: 'done' }, 2);
    const records = box.finish();
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.exchanges[0]?.response?.statusText).toBe('{{secret:env.APP_TOKEN}} is not known');
    expect(snapshot.redactions).toEqual([{ where: 'response.status', token: '{{secret:env.APP_TOKEN}}', count: 1 }]);
    expect(JSON.stringify(records.calls)).not.toContain('token-in-a-reason');
  });
});
