/** Answers that are larger than what a client takes at once are given in the pieces in which they came, and merged as they were. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { startCli } from '../cli/spawn.ts';
import { cleanUp, placeProgram } from './harness.ts';

afterAll(cleanUp);

/** `/whole/N` answers with so many bytes and their length, `/pieces/N` with four times so many, chunk by chunk. */
const server = createServer(async (request, answer) => {
  request.resume();
  const [, how, size] = request.url?.split('/') ?? [];
  const bytes = Buffer.alloc(Number(size), 'x');
  if (how === 'whole') {
    answer.writeHead(200, { 'content-length': String(bytes.length) }).end(bytes);
    return;
  }
  for (let i = 0; i < 4; i++) {
    answer.write(bytes);
    await pause(2);
  }
  answer.end();
});

it('a program that prints the sizes of pieces prints them again', { timeout: 120_000 }, async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const directory = placeProgram({ file: 'pieces.mjs' });
  const command = [process.execPath, 'pieces.mjs', url];
  const recorded = await startCli(['run', '--replayable', '--', ...command], { cwd: directory }).ended;
  server.close();
  server.closeAllConnections();
  expect(recorded.code).toBe(0);
  expect(recorded.stdout.split('\n')).toHaveLength(43);
  for (let i = 0; i < 3; i++) {
    const again = await startCli(['replay', 'last', '--', ...command], { cwd: directory }).ended;
    expect(again.stdout).toBe(recorded.stdout);
    expect(again.stderr).toContain('replayed');
    expect(again.code).toBe(0);
  }
});
