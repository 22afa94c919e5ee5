/** Sampling and levels by real programs: what is on the disk while they run, when they are killed, and afterwards. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBody } from '@orangebox/codec';
import { createSegmentStore, type StoredEntry } from '@orangebox/store';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { finished } from '../helpers/finished.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { inRepository } from '../helpers/repository.ts';
import { registerFile } from '../preload/harness.ts';

const PROGRAM = inRepository('test/recorder/sampling-program.mjs');
const CLI = inRepository('packages/orangebox/dist/cli.mjs');

let provider: Server;
let providerUrl = '';
let receiver: OtlpReceiver;
let dir = '';
/** Bytes of the directory now and then when the provider was asked. */
let sizes: number[] = [];
let asked = 0;

beforeAll(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (asked++ % 100 === 0) sizes.push(sizeOf(dir));
      const text = Buffer.concat(chunks).toString();
      const mark = /mark-[\w-]+/.exec(text)?.[0] ?? '';
      if (request.url?.startsWith('/v1/stream/')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          `data: {"choices":[{"index":0,"delta":{"content":"answer-${mark} ${'x'.repeat(20_000)}"}}]}\n\n`,
        );
        response.write(`data: {"choices":[{"index":0,"delta":{"content":"[second]"}}]}\n\n`);
        return;
      }
      const isBad = request.url?.startsWith('/v1/fail/') === true;
      response.writeHead(isBad ? 400 : 200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: `answer-${mark}` };
      response.end(
        JSON.stringify(
          isBad
            ? { error: { message: `refused ${mark}`, type: 'invalid_request_error' } }
            : {
                id: 'x',
                object: 'chat.completion',
                model: 'm',
                choices: [{ index: 0, message, finish_reason: 'stop' }],
              },
        ),
      );
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  return () => {
    provider.closeAllConnections();
    provider.close();
  };
});

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  dir = mkdtempSync(join(tmpdir(), 'orangebox-sampling-'));
  sizes = [];
});

afterEach(async () => {
  await receiver.close();
  rmSync(dir, { recursive: true, force: true });
});

function start(steps: unknown[], env: Record<string, string>) {
  return spawn(process.execPath, ['--require', registerFile, PROGRAM], {
    cwd: inRepository('test/recorder'),
    env: {
      PATH: process.env['PATH'],
      ORANGEBOX_DIR: dir,
      ORANGEBOX_EXIT_FLUSH_MS: '5000',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_BSP_MAX_QUEUE_SIZE: '20000',
      TEST_PROVIDER_URL: providerUrl,
      TEST_CLI: CLI,
      TEST_STEPS: JSON.stringify(steps),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function files(): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function sizeOf(directory: string): number {
  if (directory === '') return 0;
  let sum = 0;
  for (const path of files()) sum += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return sum;
}

const everything = (): string =>
  files()
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');

async function entries(): Promise<StoredEntry[]> {
  const store = createSegmentStore(dir);
  const found: StoredEntry[] = [];
  for await (const entry of store.list()) found.push(entry);
  expect(await store.problems()).toEqual([]);
  await store.close();
  return found;
}

async function responseOf(entry: StoredEntry | undefined): Promise<string> {
  if (!entry) throw new Error('no such call');
  const store = createSegmentStore(dir);
  const { exchanges } = await store.load(entry);
  await store.close();
  const body = exchanges.at(-1)?.response?.body;
  return body ? Buffer.from(decodeBody(body)).toString() : '';
}

const reasons = (): unknown[] =>
  receiver.requests
    .flatMap(({ spans }) => spans)
    .map(({ attributes }) => attributes['orangebox.snapshot.fidelity.reason'] || attributes['orangebox.snapshot.key']);

it('keeps what failed, to the byte, and of the others nothing but their spans', async () => {
  const steps = [
    { call: 'mark-good-1' },
    { call: 'mark-bad-1', path: '/v1/fail/chat/completions' },
    { call: 'mark-good-2' },
  ];
  const { stdout, stderr } = await finished(start(steps, { ORANGEBOX_SAMPLE: '0' }));
  expect(stderr).toBe('');
  const seen = JSON.parse(stdout) as [number, string][];
  expect(seen.map(([status]) => status)).toEqual([200, 400, 200]);
  const [kept, ...more] = await entries();
  expect(more).toEqual([]);
  expect(await responseOf(kept)).toBe(seen[1]?.[1]);
  expect(everything()).toContain('mark-bad-1');
  expect(everything()).not.toContain('mark-good');
  expect(reasons().sort()).toEqual(['not_sampled', 'not_sampled', kept?.key]);
});

it('leaves what an undecided call had when the process is killed', async () => {
  const child = start([{ call: 'mark-before' }, { open: 'mark-open' }], { ORANGEBOX_SAMPLE: '{"ratio":0}' });
  const ended = finished(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (data: Buffer) => data.includes('reading') && resolve());
    child.once('exit', () => reject(new Error('ended before')));
  });
  child.kill('SIGKILL');
  expect((await ended).signal).toBe('SIGKILL');
  const [open, ...more] = await entries();
  expect(more).toEqual([]);
  expect(open?.fidelity).toEqual({ level: 'partial', reason: 'process_died' });
  expect(await responseOf(open)).toContain('answer-mark-open');
});

it('keeps the directory small over 2,000 calls of which one in a hundred is kept, with a span for each', async () => {
  const { stderr } = await finished(start([{ many: 2000 }], { ORANGEBOX_SAMPLE: '0.01' }));
  expect(stderr).toBe('');
  const kept = await entries();
  expect(kept.length).toBeGreaterThan(5);
  expect(kept.length).toBeLessThan(45);
  const told = reasons();
  expect(told).toHaveLength(2000);
  expect(told.filter((reason) => reason === 'not_sampled')).toHaveLength(2000 - kept.length);
  // Every call would take some 3 KB.
  expect(Math.max(...sizes)).toBeLessThan(6 * 1024 * 1024);
  expect(sizeOf(dir)).toBeLessThan(kept.length * 8000);
  const marks = new Set(everything().match(/mark-many-\d+/g));
  expect(marks.size).toBe(kept.length);
}, 120_000);

describe('a level that changes while the program runs', () => {
  it('is followed by the calls that begin after: by the program, the command, and whoever spoke last', async () => {
    const steps = [
      { call: 'mark-full' },
      { setLevel: 'metadata' },
      { call: 'mark-metadata' },
      { fileLevel: ['errors'], until: 'errors' },
      { call: 'mark-errors' },
      { call: 'mark-failed', path: '/v1/fail/chat/completions' },
      { setLevel: 'off' },
      { call: 'mark-off' },
      { fileLevel: ['--clear'], until: 'full' },
      { call: 'mark-again' },
    ];
    const { stdout, stderr } = await finished(start(steps, {}));
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toHaveLength(6);
    const kept = (await entries()).reverse();
    expect(kept.map(({ key }) => key !== undefined)).toEqual([true, false, true, true]);
    const text = everything();
    for (const word of ['full', 'failed', 'again']) expect(text).toContain(`mark-${word}`);
    for (const word of ['metadata', 'errors', 'off']) expect(text).not.toContain(`mark-${word}`);
    // Off has no span, errors has one.
    expect(reasons()).toHaveLength(5);
  });

  it('stays off where the program was started with it', async () => {
    const steps = [{ setLevel: 'full' }, { call: 'mark-off' }];
    const { stdout, stderr } = await finished(start(steps, { ORANGEBOX_LEVEL: 'off' }));
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toHaveLength(1);
    expect(readdirSync(dir)).toEqual([]);
  });
});
