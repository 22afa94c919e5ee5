import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { publishesCreation } from './http-tap.ts';
import { installInstrumentation } from './install.ts';
import { createMemorySink, type MemorySink } from './memory-sink.ts';
import type { Runtime } from './runtime.ts';

let sink: MemorySink;
let runtime: Runtime | undefined;
let server: Server;
let url: string;
let answer: (socket: Socket) => void;
const sockets = new Set<Socket>();

beforeEach(async () => {
  sink = createMemorySink();
  runtime = installInstrumentation({ loadSink: () => sink, env: {} });
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1/chat/completions`;
});
afterEach(async () => {
  runtime?.uninstall();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => server.close(resolve));
});

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\n';
const silent = (): void => undefined;
const partial = (socket: Socket): void => {
  socket.write(`${HEAD}data: one`);
};

function post(options: http.RequestOptions = {}, to = url): ClientRequest {
  const request = (to.startsWith('https') ? https : http).request(to, { method: 'POST', ...options });
  request.end('{"messages":[]}');
  return request;
}

/** Waits for a request to close, whatever its error. */
async function closed(request: ClientRequest): Promise<{ error?: NodeJS.ErrnoException }> {
  const result: { error?: NodeJS.ErrnoException } = {};
  request.on('error', (error) => {
    result.error = error;
  });
  await new Promise<void>((resolve) => request.on('close', () => resolve()));
  return result;
}

const ends = (): string[] => sink.exchanges.map((e) => e.ends.map((end) => `${end.ending}/${end.stage}`).join(' and '));

describe('endings over http', () => {
  it('a refused connection', async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', () => resolve()));
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    const { error } = await closed(post({}, `http://127.0.0.1:${port}/v1/chat/completions`));
    expect(ends()).toEqual(['connect_failed/connect']);
    expect(sink.exchanges[0]?.ends[0]?.error).toBe(error);
    expect(sink.exchanges[0]?.requestBody.toString()).toBe('{"messages":[]}');
    expect(sink.exchanges[0]?.requestEnded).toBe(false);
  });

  it('an unknown host', async () => {
    await closed(post({}, 'http://nowhere.invalid/v1/chat/completions'));
    expect(ends()).toEqual(['connect_failed/connect']);
  });

  it('a server that does not speak TLS', async () => {
    answer = (socket) => socket.end('hello');
    await closed(post({}, url.replace('http:', 'https:')));
    expect(ends()).toEqual(['connect_failed/connect']);
  });

  it('a reset before the head', async () => {
    answer = (socket) => socket.resetAndDestroy();
    const { error } = await closed(post());
    expect(error?.code).toBe('ECONNRESET');
    expect(ends()).toEqual(['reset/response_head']);
  });

  it('a hang-up before the head', async () => {
    answer = (socket) => socket.end();
    const { error } = await closed(post());
    expect(error?.message).toBe('socket hang up');
    expect(ends()).toEqual(['reset/response_head']);
  });

  it('an answer that is no HTTP', async () => {
    answer = (socket) => socket.end('nonsense\r\n\r\n');
    await closed(post());
    expect(ends()).toEqual(['error/response_head']);
  });

  it('a body that is cut, with the bytes so far', async () => {
    answer = (socket) => socket.write(`${HEAD}data: one`, () => socket.destroy());
    const request = post();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const failed = once(response, 'error').catch((error: unknown) => [error]);
    response.resume();
    const [error] = (await failed) as [NodeJS.ErrnoException];
    expect([error.message, error.code]).toEqual(['aborted', 'ECONNRESET']);
    expect(ends()).toEqual(['cut/response_body']);
    expect(sink.exchanges[0]?.ends[0]?.error).toBe(error);
    expect(sink.exchanges[0]?.responseBody.toString()).toBe('data: one');
  });

  it('a timeout that the program acts on', async () => {
    answer = silent;
    const request = post({ timeout: 30 });
    request.on('timeout', () => request.destroy(new Error('too slow')));
    const { error } = await closed(request);
    expect(error?.message).toBe('too slow');
    expect(ends()).toEqual(['timeout/response_head']);
  });

  it('a timeout that the program takes note of only, then an abort', async () => {
    answer = silent;
    const request = post({ timeout: 30 });
    await once(request, 'timeout');
    request.destroy();
    await closed(request);
    expect(ends()).toEqual(['caller_abort/response_head']);
  });

  it('a signal of AbortSignal.timeout', async () => {
    answer = silent;
    const { error } = await closed(post({ signal: AbortSignal.timeout(30) }));
    expect(error?.name).toBe('AbortError');
    expect(ends()).toEqual(['timeout/response_head']);
  });

  it.each(['destroy', 'abort'] as const)('%s before the head', async (method) => {
    answer = silent;
    const request = post();
    await once(request, 'finish');
    request[method]();
    await closed(request);
    expect(ends()).toEqual(['caller_abort/response_head']);
  });

  it('an abort within the body', async () => {
    answer = partial;
    const controller = new AbortController();
    const request = post({ signal: controller.signal });
    const done = closed(request);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    await once(response, 'data');
    controller.abort();
    await done;
    expect(ends()).toEqual(['caller_abort/response_body']);
  });

  it('a break out of the body', async () => {
    answer = partial;
    const request = post();
    const done = closed(request);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    for await (const _ of response) break;
    await done;
    expect(ends()).toEqual(['caller_stopped_reading/response_body']);
  });

  it('a response that nobody listens for', async () => {
    answer = (socket) => socket.write(HEAD + 'x'.repeat(100));
    const request = post();
    await closed(request);
    expect(ends()).toEqual(['caller_stopped_reading/response_body']);
    expect(sink.exchanges[0]?.head?.status).toBe(200);
  });

  it('the end of the process, and one where the program left the body unread', async () => {
    answer = partial;
    const reading = post();
    (await once(reading, 'response'))[0].resume();
    answer = (socket) => {
      socket.write(HEAD.replace('100', '9000000') + 'x'.repeat(1_000_000));
    };
    const unread = post();
    const [response] = (await once(unread, 'response')) as [IncomingMessage];
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (response.readableLength >= response.readableHighWaterMark) resolve();
        else setImmediate(look);
      };
      look();
    });
    (runtime as unknown as { flushSync(): void }).flushSync();
    expect(ends()).toEqual(['process_exit/response_body', 'caller_stopped_reading/response_body']);
    reading.on('error', () => undefined).destroy();
    unread.on('error', () => undefined).destroy();
  });

  it('a request that is destroyed before anything was written is none', async () => {
    const request = http.request(url, { method: 'POST' });
    request.destroy();
    await closed(request);
    expect(ends()).toEqual([]);
  });
});

describe('the program', () => {
  it('sees no listener, no enumerable property and no other function name', async () => {
    answer = (socket) => socket.end(`${HEAD}${'x'.repeat(100)}`);
    const request = post();
    runtime?.uninstall();
    const bare = http.request(url, { method: 'POST' }).on('error', () => undefined);
    const look = (r: ClientRequest): unknown => ({
      events: r.eventNames().filter((name) => name !== 'error'),
      keys: Object.keys(r).filter((key) => !key.startsWith('_')),
      names: [r.write, r.end, r.destroy, r.emit, r.flushHeaders].map((f) => [f.name, f.length]),
    });
    expect(look(request)).toEqual(look(bare));
    bare.destroy();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(Object.keys(response).includes('push')).toBe(false);
    response.resume();
    await once(response, 'end');
  });

  it('finds the wrapped functions with their name, length and properties, also with new', () => {
    const { request, get } = http;
    expect([request.name, request.length, get.name, get.length]).toEqual(['request', 3, 'get', 3]);
    runtime?.uninstall();
    expect([http.request.name, http.request.length]).toEqual(['request', 3]);
    expect(http.request).not.toBe(publishesCreation(process.versions.node) ? undefined : request);
  });

  it('gets the same stack-less errors for wrong arguments', () => {
    const tapped = attempt(() => http.request('no url'));
    const tappedPath = attempt(() => http.request({ path: 'a b' }));
    runtime?.uninstall();
    expect([tapped, tappedPath]).toEqual([
      attempt(() => http.request('no url')),
      attempt(() => http.request({ path: 'a b' })),
    ]);
  });

  it('keeps its back-pressure: a body that is not read stops the sender', async () => {
    let sent = 0;
    answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = (): void => {
        while (sent < 200_000_000 && socket.write('x'.repeat(65_536))) sent += 65_536;
        socket.once('drain', more);
      };
      more();
    };
    const request = post();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(sent).toBeLessThan(50_000_000);
    response.destroy();
  });
});

it('knows which versions publish requests at their creation', () => {
  const versions = ['20.20.2', '22.11.0', '22.12.0', '23.1.0', '23.2.0', '24.0.0'];
  expect(versions.map(publishesCreation)).toEqual([false, false, true, false, true, true]);
});

function attempt(fn: () => unknown): unknown {
  try {
    return fn();
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException;
    return { name, message, code };
  }
}
