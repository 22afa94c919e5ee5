/** A process that is killed in the call that hands the last byte of its request to the kernel: the request is on record. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { collectRecords, decodeSegment, type ExchangeRecords } from '@orangebox/codec';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from '../preload/harness.ts';
import { startWireServer, type WireServer } from '../wire/wire-server.mjs';

const [killer, program] = ['after-send.cjs', 'clients.mjs'].map((name) => inRepository(`test/drills/kill/${name}`));
let server: WireServer;
let runs = 0;

beforeAll(async () => {
  server = await startWireServer();
});
afterAll(() => server.close());

/** The exchanges that a killed process left. */
function exchangesIn(directory: string): ExchangeRecords[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.obxs'));
  return files.flatMap((file) => {
    const decoded = [...decodeSegment(readFileSync(join(directory, file)), { crc32 })];
    return [...collectRecords(decoded.map(({ record }) => record)).exchanges.values()];
  });
}

async function killedAt(request: number, client: string, kind: string): Promise<{ sent: string[]; kept: string[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-last-byte-'));
  const run = `run${String(runs++)}`;
  try {
    const args = ['--require', registerFile, '--require', killer ?? '', program ?? '', client, kind];
    const child = spawn(process.execPath, [...args, server.url('plain', run)], {
      env: { PATH: process.env['PATH'], ORANGEBOX_DIR: directory, KILL_AT_REQUEST: String(request) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = await finished(child);
    expect(ended).toMatchObject({ signal: 'SIGKILL', stdout: '', stderr: '' });
    const sent = (): string[] =>
      server.received.filter(({ url }) => url.includes(`/${run}/`)).map(({ body }) => body.toString());
    await expect.poll(() => sent().length).toBe(request);
    const kept = exchangesIn(directory).map(({ requestHead, requestChunks }) => {
      expect(requestHead?.headers.length).toBeGreaterThan(0);
      return Buffer.concat(requestChunks.map(({ bytes }) => bytes)).toString();
    });
    return { sent: sent(), kept };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const kinds: [client: string, kind: string][] = [
  ...['text', 'bytes', 'stream', 'form', 'blob', 'none'].map((kind): [string, string] => ['fetch', kind]),
  ...['5', '6', '7'].flatMap((version) =>
    ['text', 'stream', 'form', 'blob', 'none'].map((kind): [string, string] => [`undici-${version}`, kind]),
  ),
  ...['text', 'written', 'sized', 'stream', 'none'].map((kind): [string, string] => ['http', kind]),
  ...['axios', 'got', 'node-fetch-2', 'follow-redirects'].map((client): [string, string] => [client, 'text']),
];

it.for(kinds)('%s, a body of kind %s', async ([client, kind]) => {
  // The first request finds no recorder loaded, the third one a connection that was used before.
  for (const request of [1, 3]) {
    const { sent, kept } = await killedAt(request, client, kind);
    expect(kept).toEqual(sent);
  }
});
