/** The cases of the memory drill: each a program without and with Orangebox, its peak, and whether it saw the same. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runWatched } from './peak.mjs';

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url));

/** `ORANGEBOX_MEMORY_BYTES`, as the programs have it: its default. */
export const MEMORY_BYTES = 64 * 2 ** 20;
/** What comes on top of that bound: code that is loaded, compiled and its heap, and one snapshot that is being made and sent. */
export const CONSTANT_BYTES = 64 * 2 ** 20;
/** The most that may be added to a program's peak. */
export const ADDED_MAX_BYTES = MEMORY_BYTES + CONSTANT_BYTES;

/** A port that refuses. */
async function closedPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return { port, close: async () => {} };
}

/** A port that accepts, reads, and never answers. */
async function silentPort() {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: server.address().port, close };
}

const receiver = (open) => async () => {
  const { port, close } = await open();
  const env = {
    ORANGEBOX_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  };
  return { env, close };
};

/** All cases: `{name, args(url), receiver()}`. */
export function memoryCases({ bytes, calls }) {
  const stream = (form) => (url) => ['stream', `${url}/${bytes}/${form}/v1/chat/completions`];
  const many = (url) => ['calls', `${url}/v1/chat/completions`, String(calls)];
  const local = async () => ({ env: {}, close: async () => {} });
  return [
    ...['plain', 'sse', 'gzip'].flatMap((form) => [
      { name: `${form}, recorded`, args: stream(form), receiver: local },
      {
        name: `${form}, recorded and shipped`,
        args: stream(form),
        receiver: (url) => ({ env: { ORANGEBOX_ENDPOINT: url }, close: async () => {} }),
      },
    ]),
    { name: `${calls} calls, receiver gone`, args: many, receiver: receiver(closedPort) },
    { name: `${calls} calls, receiver never answers`, args: many, receiver: receiver(silentPort) },
  ];
}

/** Runs a case; `wrong` says what is not as it should be. */
export async function measureCase({ args, receiver: open }, url) {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-memory-'));
  const { env, close } = await open(url);
  try {
    const without = await runWatched(PROGRAM, args(url), { preload: false });
    const withIt = await runWatched(PROGRAM, args(url), {
      preload: true,
      env: { ORANGEBOX_DIR: join(directory, 'box'), ...env },
    });
    const addedBytes = Math.max(0, withIt.peakBytes - without.peakBytes);
    const wrong = [];
    if (without.code !== 0 || withIt.code !== 0)
      wrong.push(`ended with ${without.code}, ${withIt.code}: ${withIt.stderr}`);
    if (without.stdout !== withIt.stdout)
      wrong.push(`read ${without.stdout.trim()} without, ${withIt.stdout.trim()} with`);
    if (addedBytes > ADDED_MAX_BYTES)
      wrong.push(`adds ${addedBytes} bytes to the peak, ${ADDED_MAX_BYTES} are allowed`);
    return { without, withIt, addedBytes, wrong };
  } finally {
    await close();
    rmSync(directory, { recursive: true, force: true });
  }
}
