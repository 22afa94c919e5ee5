import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryBucket } from '@orangebox/store';
import { partAttributes, partRequest, traceRequest } from '../../../../test/helpers/otlp-sender.mjs';
import { type ArchiverBench, partsOf, recorded, startBench } from '../testing/archiver-bench.ts';
import type { ArchiverOptions } from './archiver.ts';

const MIB = 1024 * 1024;
let current: ArchiverBench | undefined;
const sockets: Socket[] = [];
async function bench(options: Partial<ArchiverOptions> = {}): Promise<ArchiverBench> {
  current = await startBench({ index: false, ...options });
  return current;
}
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await current?.archiver.stop();
  current = undefined;
});

/** A connection, and all that it answers until it is closed. */
function raw({ archiver }: ArchiverBench, text: string): { socket: Socket; answer: Promise<string> } {
  const socket = connect(archiver.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(text);
  let seen = '';
  socket.on('data', (chunk: Buffer) => (seen += chunk.toString('latin1')));
  return { socket, answer: new Promise((resolve) => socket.once('close', () => resolve(seen))) };
}

const HEAD = 'POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n';

async function isIdle(running: ArchiverBench): Promise<boolean> {
  return (await running.metric('in_flight_bytes')) === 0 && (await running.metric('work_bytes')) === 0;
}

describe('a request that is too much', () => {
  it('is answered 413 when it says so itself, before its body comes', async () => {
    const running = await bench({ limits: { requestBytes: MIB } });
    const { answer } = raw(running, `${HEAD}content-length: ${MIB + 1}\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('is answered 413 when it turns out to be so, sent in chunks or packed', async () => {
    const running = await bench({ limits: { requestBytes: MIB } });
    const bomb = gzipSync(Buffer.alloc(200 * MIB));
    expect((await running.post(bomb, { 'content-encoding': 'gzip' })).status).toBe(413);
    const chunks = new ReadableStream({
      pull(controller) {
        controller.enqueue(randomBytes(100_000));
      },
    });
    const streamed = fetch(`${running.archiver.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body: chunks,
      duplex: 'half',
    } as RequestInit);
    expect((await streamed).status).toBe(413);
    expect(await isIdle(running)).toBe(true);
  });

  it('is answered 413, not 503, when it would not fit even alone: later it would fit as little', async () => {
    // 10 MiB for requests: half of it for what has to be joined, a quarter for JSON.
    const running = await bench({ limits: { memoryBytes: 32 * MIB } });
    const packed = gzipSync(Buffer.alloc(6 * MIB));
    expect((await running.post(packed, { 'content-encoding': 'gzip' })).status).toBe(413);
    const json = Buffer.from(`{"a":"${'b'.repeat(3 * MIB)}"}`);
    expect((await running.post(json, { 'content-type': 'application/json' })).status).toBe(413);
    expect((await running.post(Buffer.alloc(6 * MIB))).status).toBe(400);
    expect(await isIdle(running)).toBe(true);
  });

  it('is answered 503 at once while others fill the memory, and taken when they are done', async () => {
    // 10 MiB for requests.
    const running = await bench({ limits: { memoryBytes: 32 * MIB } });
    const slow = raw(running, `${HEAD}content-length: ${9 * MIB}\r\n\r\n`);
    slow.socket.write(Buffer.alloc(8 * MIB));
    const { key, part } = recorded();
    const body = partRequest(key, part);
    await expect.poll(() => running.metric('in_flight_bytes')).toBe(9 * MIB);
    const refused = raw(running, `${HEAD}content-length: ${2 * MIB}\r\n\r\n`);
    expect(await refused.answer).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1/s);
    expect((await running.post(body)).status).toBe(200);
    slow.socket.destroy();
    await expect.poll(() => isIdle(running)).toBe(true);
    expect((await running.post(Buffer.concat([body, Buffer.alloc(3 * MIB)]))).status).toBe(400);
  });

  it('is answered 400 when it holds more messages than any sender makes', async () => {
    const running = await bench();
    expect((await running.post(Buffer.alloc(4 * MIB, Buffer.of(0x0a, 0)))).status).toBe(400);
    const json = Buffer.from(`{"resourceSpans":[${'{},'.repeat(2 * MIB)}{}]}`);
    expect((await running.post(json, { 'content-type': 'application/json' })).status).toBe(400);
    const event = [{ attributes: partAttributes({ bytes: Buffer.of(1), digest: '' }) }];
    const events = traceRequest([{ spans: Array.from({ length: 10_001 }, () => ({ events: event })) }]);
    expect((await running.post(events)).status).toBe(400);
    expect(await running.names()).toEqual([]);
    expect(await isIdle(running)).toBe(true);
  });
});

describe('a payload that is a bomb', () => {
  it('goes to quarantine when it lies about its length, and when it is longer than any snapshot', async () => {
    const running = await bench();
    const { key, part } = recorded();
    const honest = gzipSync(Buffer.alloc(501 * MIB), { level: 1 });
    // Shorter than the longest snapshot, longer than what can be parsed here.
    const zeros = gzipSync(Buffer.alloc(300 * MIB), { level: 1 });
    const lying = Buffer.from(gzipSync(Buffer.alloc(100 * MIB)));
    lying.writeUInt32LE(1000, lying.length - 4);
    for (const bytes of [honest, zeros, lying]) {
      expect((await running.post(partRequest(key, { ...part, bytes }))).status).toBe(200);
    }
    expect(await running.metric('quarantined_total{reason="too_large"}')).toBe(1);
    expect(await running.metric('quarantined_total{reason="gzip"}')).toBe(1);
    expect(await running.metric('quarantined_total{reason="snapshot"}')).toBe(1);
    expect((await running.names()).filter((name) => name.startsWith('v1/'))).toEqual([]);
    expect(await isIdle(running)).toBe(true);
  });

  it('is stored as a part, unverified, when it is whole and needs more memory than there is', async () => {
    const running = await bench({ limits: { memoryBytes: 32 * MIB } });
    const one = recorded(7 * MIB);
    expect((await running.post(partRequest(one.key, one.part))).status).toBe(200);
    expect((await running.post(partRequest(one.key, one.part))).status).toBe(200);
    const names = await running.names();
    expect(names).toEqual([expect.stringMatching(/\/part-[0-9a-f]{16}-0000-of-0001$/)]);
    expect(await running.metric('unverified_total')).toBe(2);
    // Its hash is in its name, so that damage is seen all the same.
    await running.bucket.write(names[0] ?? '', Buffer.from('damaged'));
    expect((await running.post(partRequest(one.key, one.part))).status).toBe(200);
    expect(await running.metric('payloads_total{outcome="repaired"}')).toBe(1);
    const cut = { ...one.part, bytes: Buffer.concat([one.gzip.subarray(0, 3 * MIB), one.gzip.subarray(-8)]) };
    await running.post(partRequest(one.key, cut));
    expect(await running.metric('quarantined_total{reason="gzip"}')).toBe(1);
  });

  it('of several parts is left unverified when it is too large to be joined', async () => {
    const running = await bench({ limits: { memoryBytes: 32 * MIB } });
    const one = recorded(9 * MIB);
    for (const part of partsOf(one, 3)) expect((await running.post(partRequest(one.key, part))).status).toBe(200);
    await running.archiver.stop();
    expect(await running.metric('assemblies_total{outcome="too_large"}')).toBe(1);
  });
});

describe('a client that behaves badly', () => {
  it('is let go when its headers are huge', async () => {
    const running = await bench();
    const { answer } = raw(running, `${HEAD}x: ${'a'.repeat(100_000)}\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('is let go when its headers or its body take too long', async () => {
    const running = await bench({ limits: { requestTimeoutMs: 200 } });
    const headers = raw(running, HEAD);
    const body = raw(running, `${HEAD}content-length: 1000\r\n\r\nabc`);
    expect(await headers.answer).toMatch(/408/);
    expect(await body.answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    await expect.poll(() => isIdle(running)).toBe(true);
  });

  it('is let go also when it does not take the end of the connection for one, and goes on sending', async () => {
    const running = await bench({ limits: { requestTimeoutMs: 300, connections: 2 } });
    const closed = [HEAD.slice(0, 40), `${HEAD}content-length: ${40 * MIB}\r\n\r\n`].map(async (text) => {
      const socket = connect({ port: running.archiver.port, host: '127.0.0.1', allowHalfOpen: true });
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.resume();
      socket.write(text);
      const sending = setInterval(() => socket.write('a'), 50);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(sending);
    });
    await Promise.all(closed);
    await expect.poll(() => isIdle(running)).toBe(true);
  });

  it('holds no room of others by saying how much it will send', async () => {
    // 10 MiB for requests.
    const running = await bench({ limits: { memoryBytes: 32 * MIB } });
    for (let i = 0; i < 3; i += 1) raw(running, `${HEAD}content-length: ${9 * MIB}\r\n\r\n${'a'.repeat(1000)}`);
    await expect.poll(() => running.metric('in_flight_bytes')).toBeGreaterThan(0);
    const { key, part } = recorded();
    expect((await running.post(partRequest(key, part))).status).toBe(200);
    expect((await running.post(Buffer.alloc(9 * MIB))).status).toBe(400);
  });

  it('leaves nothing behind when it goes away within its body', async () => {
    const running = await bench();
    for (const head of [`content-length: ${MIB}`, 'transfer-encoding: chunked']) {
      const { socket } = raw(running, `${HEAD}${head}\r\n\r\n10000\r\n${'a'.repeat(60_000)}`);
      await expect.poll(() => running.metric('in_flight_bytes')).toBeGreaterThan(0);
      socket.destroy();
      await expect.poll(() => isIdle(running)).toBe(true);
    }
    await expect.poll(() => running.metric('requests_total{status="400"}')).toBe(2);
    expect(await running.names()).toEqual([]);
  });

  it('is asked for its body only when it will be read', async () => {
    const running = await bench({ tokens: ['right'] });
    const ask = async (token: string): Promise<[continued: boolean, status: number | undefined]> => {
      const sent = httpRequest(`${running.archiver.url}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', expect: '100-continue', authorization: `Bearer ${token}` },
      });
      let continued = false;
      sent.on('continue', () => {
        continued = true;
        sent.end();
      });
      sent.flushHeaders();
      const [response] = (await once(sent, 'response')) as [{ statusCode?: number; resume(): void }];
      response.resume();
      sent.destroy();
      return [continued, response.statusCode];
    };
    expect(await ask('wrong')).toEqual([false, 401]);
    expect(await ask('right')).toEqual([true, 200]);
  });

  it('of whom there are too many is not let in', async () => {
    const running = await bench({ limits: { connections: 3 } });
    const held = Array.from({ length: 3 }, () => raw(running, ''));
    await Promise.all(held.map(({ socket }) => once(socket, 'connect')));
    const { answer } = raw(running, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await answer).toBe('');
  });
});

it('writes only so many objects at once', async () => {
  const bucket = createMemoryBucket();
  const write = bucket.write.bind(bucket);
  let [now, most] = [0, 0];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  bucket.write = async (...args) => {
    now += 1;
    most = Math.max(most, now);
    await held;
    now -= 1;
    return write(...args);
  };
  const running = await bench({ bucket, limits: { writes: 4 } });
  const all = Array.from({ length: 30 }, () => recorded());
  const sent = Promise.all(all.map(({ key, part }) => running.post(partRequest(key, part))));
  await expect.poll(() => running.metric('waiting_writes')).toBe(26);
  release();
  const answers = await sent;
  expect(answers.every((answer) => answer.status === 200)).toBe(true);
  expect(most).toBe(4);
});
