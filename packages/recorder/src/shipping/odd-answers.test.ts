/** Endpoints that say nothing, or not all of it: a recording is sent again, and nothing holds its place for ever. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createTransport } from './transport.ts';

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

/** A server that answers each request as it is told. */
async function transportTo(answer: (socket: Socket) => void, timeoutMs = 2000) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  closes.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return createTransport(new URL(`http://127.0.0.1:${port}/v1/traces`), {}, timeoutMs);
}

const body = [Buffer.from('a recording')];

it('takes a switch of protocols for no answer', async () => {
  const transport = await transportTo((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n'),
  );
  expect(await transport.send(body)).toEqual({ kind: 'later', reason: 'the connection was closed without an answer' });
});

it.each([
  ['is put off again and again', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['drips', 'H'],
])('gives up an answer that %s', async (_how, piece) => {
  const transport = await transportTo((socket) => {
    let sent = 0;
    const text = piece === 'H' ? 'HTTP/1.1 200 OK\r\nx-padding: '.padEnd(400, 'x') : piece;
    const timer = setInterval(() => socket.write(piece === 'H' ? (text[sent++] ?? 'x') : text), 20);
    socket.once('close', () => clearInterval(timer));
  }, 200);
  expect(await transport.send(body)).toEqual({ kind: 'later', reason: 'no answer within 200 ms' });
});

it('takes a 200 whose body was broken off for no acknowledgement: it may have said what was not taken', async () => {
  const transport = await transportTo((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\nhalf of it', () => socket.destroy());
  });
  expect(await transport.send(body)).toEqual({ kind: 'later', reason: 'the answer was cut' });
});

it('takes a 200 that is whole, and one that is longer than it reads', async () => {
  const whole = await transportTo((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  expect(await whole.send(body)).toMatchObject({ kind: 'accepted' });
  const long = await transportTo((socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(100_000)}`));
  expect(await long.send(body)).toMatchObject({ kind: 'accepted' });
});
