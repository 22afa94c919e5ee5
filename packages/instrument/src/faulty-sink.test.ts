import { createServer, type Server } from 'node:http';
import type { WireSink } from '@orangebox/recorder';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tool } from './api.ts';
import { createFaults } from './faults.ts';
import { installInstrumentation } from './install.ts';
import { createMemorySink } from './memory-sink.ts';
import type { Runtime } from './runtime.ts';

let runtime: Runtime | undefined;
let server: Server;
let url: string;
let lines: string[];

beforeEach(async () => {
  lines = [];
  server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{"fine":true}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1/chat/completions`;
});
afterEach(async () => {
  runtime?.uninstall();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const install = (loadSink: () => WireSink): void => {
  runtime = installInstrumentation({ loadSink, env: {}, faults: createFaults((line) => lines.push(line)) });
};
const call = async (): Promise<string> => (await fetch(url, { method: 'POST', body: '{}' })).text();

it('a recorder that cannot be loaded is said once, and the program goes on', async () => {
  let loads = 0;
  install(() => {
    loads++;
    throw new Error('gone');
  });
  expect([await call(), await call()]).toEqual(['{"fine":true}', '{"fine":true}']);
  expect([loads, lines]).toEqual([
    1,
    ['orangebox: loading the recorder failed, the program is not affected: Error: gone\n'],
  ]);
});

it('a recorder that throws everywhere changes nothing', async () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  const exchange = {
    requestHead: fail,
    requestChunk: fail,
    requestEnd: fail,
    informational: fail,
    responseHead: fail,
    responseChunk: fail,
    end: fail,
  };
  install(() => ({ open: () => exchange, tool: fail, flushSync: fail, flush: fail }));
  expect(await call()).toBe('{"fine":true}');
  expect(tool('t', () => 5)()).toBe(5);
  expect(runtime?.faults['recording an exchange']).toBeGreaterThan(3);
  expect(lines.length).toBe(3);
});

it('a recorder that opens nothing is asked for nothing more', async () => {
  const sink = createMemorySink();
  install(() => ({
    ...sink,
    open: () => {
      throw new Error('full');
    },
  }));
  expect(await call()).toBe('{"fine":true}');
  expect(runtime?.faults).toEqual({ 'opening an exchange': 1 });
});
