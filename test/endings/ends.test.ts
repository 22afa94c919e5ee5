/** Every way in which a process can end: it ends as without Orangebox, in time, and both its calls are on record. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBody } from '@orangebox/codec';
import { openStore } from '@orangebox/store';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Finished, finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from '../preload/harness.ts';

const program = inRepository('test/endings/ends.mjs');
const WHOLE = JSON.stringify({ object: 'chat.completion', model: 'm', choices: [] });
const HALF = 'data: {"object":"chat.completion.chunk","model":"m","choices":[]}\n\n';
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url?.startsWith('/whole/')) response.setHeader('content-type', 'application/json').end(WHOLE);
      else response.setHeader('content-type', 'text/event-stream').write(HALF);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function run(way: string, dir?: string): Promise<Finished> {
  const env = { PATH: process.env['PATH'], ...(dir === undefined ? {} : { ORANGEBOX_DIR: dir }) };
  const args = [...(dir === undefined ? [] : ['--require', registerFile]), program, way, url];
  const ended = await finished(spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  // A process that aborts says where it was.
  return { ...ended, stderr: way === 'abort' ? '' : ended.stderr };
}

/** Calls on record as `ending` and the bytes of the answer. */
async function recorded(dir: string): Promise<[ending: string, body: string][]> {
  const store = await openStore(dir);
  const all: [string, string][] = [];
  for await (const entry of store.list({ order: 'oldest' })) {
    const [exchange] = (await store.load(entry)).exchanges;
    const body = exchange?.response?.body;
    all.push([exchange?.ending ?? '', body ? Buffer.from(decodeBody(body)).toString() : '']);
  }
  expect(await store.problems()).toEqual([]);
  await store.close();
  return all;
}

it.each([
  ['exit', 'process_exit'],
  ['exit-code', 'process_exit'],
  ['uncaught', 'process_exit'],
  ['uncaught-handled', 'process_exit'],
  ['rejection', 'process_exit'],
  ['SIGTERM', 'process_exit'],
  ['SIGINT', 'process_exit'],
  ['SIGTERM-handled', 'process_exit'],
  ['empty-loop', 'caller_stopped_reading'],
  ['SIGHUP', 'process_died'],
  ['SIGKILL', 'process_died'],
  ['abort', 'process_died'],
  ['terminate', 'process_died'],
  ['worker-exit', 'process_exit'],
  ['child', 'process_exit'],
  ['cluster', 'process_exit'],
])('a process that ends by %s', { timeout: 60_000 }, async (way, ending) => {
  const dir = mkdtempSync(join(tmpdir(), 'orangebox-ends-'));
  try {
    const [bare, tapped] = await Promise.all([run(way), run(way, dir)]);
    expect(tapped).toEqual(bare);
    expect(await recorded(dir)).toEqual([
      ['complete', WHOLE],
      [ending, HALF],
    ]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
