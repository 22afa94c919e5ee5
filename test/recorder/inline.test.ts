/** The inline transport, by real programs: each snapshot rides on its own span, and comes back from the bytes that were sent. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { snapshotDigest } from '@orangebox/codec';
import { type CallEndRecord, type Snapshot, snapshotKey } from '@orangebox/schema';
import { readEnvelopes } from '@orangebox/store';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { finished } from '../helpers/finished.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { inRepository } from '../helpers/repository.ts';
import { readRecording, registerFile } from '../preload/harness.ts';

const PROGRAM = inRepository('test/recorder/inline-program.mjs');
const SECRET = 'sk-secret-of-the-header-1234';
const ENV_SECRET = 'value-of-a-secret-variable';

const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: `my key is ${ENV_SECRET}` }] };
const toolCall = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } };
const toolRound = [
  { body: { ...chat, messages: [{ role: 'user', content: 'add, please' }] }, path: '/v1/chat/completions?tools' },
  {
    body: {
      ...chat,
      messages: [
        { role: 'user', content: 'add, please' },
        { role: 'assistant', content: null, tool_calls: [toolCall] },
        { role: 'tool', tool_call_id: 'call_1', content: '2' },
      ],
    },
  },
];

let provider: Server;
let providerUrl = '';
let receiver: OtlpReceiver;
let dir = '';

beforeAll(async () => {
  provider = createServer((request, response) => {
    request.resume().on('end', () => {
      const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
      if (pathname === '/v1/fail/chat/completions') {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end('{"error":{"message":"no such model","type":"invalid_request_error"}}');
        return;
      }
      const message = search === '?tools' ? { content: null, tool_calls: [toolCall] } : { content: 'hello' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          model: 'gpt-4o-mini-2',
          choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  return () => void provider.close();
});

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  dir = mkdtempSync(join(tmpdir(), 'orangebox-inline-'));
});

afterEach(async () => {
  await receiver.close();
  rmSync(dir, { recursive: true, force: true });
});

async function run(calls: unknown[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--require', registerFile, PROGRAM], {
    env: {
      PATH: process.env['PATH'],
      ORANGEBOX_DIR: dir,
      ORANGEBOX_TRANSPORT: 'inline',
      ORANGEBOX_EXIT_FLUSH_MS: '5000',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_METRICS_EXPORTER: 'none',
      MY_SERVICE_SECRET: ENV_SECRET,
      TEST_PROVIDER_URL: providerUrl,
      TEST_CALLS: JSON.stringify(calls),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = await finished(child);
  return { ...ended, ...readRecording(dir) };
}

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const allSpans = (): ReceivedSpan[] => receiver.requests.flatMap(({ spans }) => spans);
const eventOf = (span: ReceivedSpan | undefined) => span?.events.find(({ name }) => name === 'orangebox.snapshot');

/** What a store reads from the requests as they came, by key. */
function arrived(): Map<string, Snapshot> {
  const snapshots = new Map<string, Snapshot>();
  for (const part of receiver.requests.flatMap(({ body }) => readEnvelopes(body))) {
    expect(part).toMatchObject({ index: 0, count: 1 });
    expect(part.partSha256).toBe(sha256(part.bytes));
    expect(part.payloadSha256).toBe(sha256(part.bytes));
    snapshots.set(part.key, JSON.parse(gunzipSync(part.bytes).toString()) as Snapshot);
  }
  return snapshots;
}

/** Each is what its key and digest promise. `calls`: these and no others. */
function expectWhole(snapshots: Map<string, Snapshot>, calls?: readonly CallEndRecord[]): void {
  for (const [key, snapshot] of snapshots) {
    expect(snapshotKey(snapshot)).toBe(key);
    expect(snapshotDigest(snapshot, sha256)).toBe(snapshot.digest);
  }
  if (calls) expect([...snapshots.keys()].sort()).toEqual(calls.map(({ key }) => key).sort());
}

it('brings calls, failed calls and tools to wherever the spans go, and marks what was taken as shipped', async () => {
  const calls = [{ body: chat }, ...toolRound, { body: chat, path: '/v1/fail/chat/completions' }];
  const result = await run(calls);
  expect(result.stderr).toBe('');
  const snapshots = arrived();
  expect([...snapshots.values()].map(({ kind }) => kind).sort()).toEqual(['llm', 'llm', 'llm', 'llm', 'tool']);
  expectWhole(snapshots);
  for (const { key } of result.calls) expect(snapshots.has(key ?? '')).toBe(true);
  expect([...result.shipped].sort()).toEqual([...snapshots.keys()].sort());
  const failed = allSpans().find(({ status }) => status.code === 2);
  expect(eventOf(failed)?.attributes).toMatchObject({
    'orangebox.snapshot.encoding': 'gzip',
    'orangebox.snapshot.digest': failed?.attributes['orangebox.snapshot.digest'],
    'orangebox.part.index': 0,
    'orangebox.part.count': 1,
  });
});

it('sends nothing unredacted', async () => {
  await run([{ body: chat }]);
  const [snapshot] = arrived().values();
  const text = JSON.stringify(snapshot);
  expect(text).toContain('{{secret:');
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(ENV_SECRET);
  const sent = receiver.requests.map(({ body }) => body.toString('latin1')).join();
  expect(sent).not.toContain(SECRET);
  expect(sent).not.toContain(ENV_SECRET);
});

it("rides on an application's own spans, ended before its provider stops, and marks nothing", async () => {
  const result = await run([{ body: chat }, { body: chat }], { TEST_SETUP: 'own' });
  expect(result.stderr).toBe('');
  expectWhole(arrived(), result.calls);
  expect(result.shipped).toEqual([]);
  expect(allSpans().every(({ scope }) => scope === 'orangebox')).toBe(true);
});

it.each([
  ['is frozen', 'frozen'],
  ['hides the one that is shut down', 'hidden'],
])("rides on an application's spans also where its provider %s", async (_name, setup) => {
  const result = await run([{ body: chat }, { body: chat }], { TEST_SETUP: setup });
  expect(result.stderr).toBe('');
  expectWhole(arrived(), result.calls);
  expect(arrived().size).toBe(2);
});

it('is sent within the time for the exit when a signal ends the program', async () => {
  const result = await run([{ body: chat }], { TEST_END: 'sigterm' });
  expect(result.signal).toBe('SIGTERM');
  expectWhole(arrived(), result.calls);
});

it('leaves what is over 8 MiB on the machine, without a key on the span, and says so once', async () => {
  const result = await run([{ body: 12_000_000 }, { body: 12_000_000 }, { body: chat }]);
  expect(JSON.parse(result.stdout)).toHaveLength(3);
  expect(result.stderr.match(/too large for a span; it stays on this machine/g)).toHaveLength(1);
  expect(arrived().size).toBe(1);
  const large = allSpans().filter((span) => !eventOf(span));
  expect(large).toHaveLength(2);
  for (const { attributes } of large) {
    expect(attributes).toMatchObject({ 'orangebox.snapshot.key': '', 'orangebox.snapshot.kept_local': 'too_large' });
  }
  // It stands in the segment as ever.
  expect(result.calls.filter(({ key }) => key !== undefined)).toHaveLength(3);
  expect(result.shipped).toHaveLength(1);
});

it('keeps requests under 8 MiB each where many large snapshots are waiting', async () => {
  const result = await run(Array.from({ length: 8 }, () => ({ body: 2_000_000 })));
  expectWhole(arrived(), result.calls);
  for (const { sizeBytes } of receiver.requests) expect(sizeBytes).toBeLessThan(8.5 * 1024 * 1024);
});

const limits: [string, Record<string, string>][] = [
  ['of the environment', { OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: '200' }],
  ["of the application's provider", { TEST_SETUP: 'limited' }],
];
it.each(limits)('keeps local what a value limit %s would cut, and says so once', async (_name, env) => {
  const result = await run([{ body: chat }, { body: chat }], env);
  expect(result.stderr.match(/would cut snapshots on spans/g)).toHaveLength(1);
  expect(arrived().size).toBe(0);
  expect(allSpans().map(({ attributes }) => attributes['orangebox.snapshot.kept_local'])).toEqual([
    'value_limit',
    'value_limit',
  ]);
  expect(allSpans().flatMap(({ events }) => events)).toEqual([]);
});

it('holds no program up when nobody takes the spans, and marks nothing as shipped', async () => {
  await receiver.close();
  const result = await run([{ body: chat }], { ORANGEBOX_EXIT_FLUSH_MS: '300' });
  expect(JSON.parse(result.stdout)).toEqual([[200, expect.any(Number)]]);
  expect(result.shipped).toEqual([]);
  expect(result.calls).toHaveLength(1);
  expect(readdirSync(dir)).toContain('segments');
  expect(readFileSync(join(dir, '.gitignore'), 'utf8')).toBe('*\n');
});

it('keeps what a sampler dropped on the machine', async () => {
  const result = await run([{ body: chat }], { OTEL_TRACES_SAMPLER: 'always_off' });
  expect(allSpans()).toEqual([]);
  expect(result.calls[0]?.trace.sampled).toBe(false);
  expect(result.calls[0]?.key).toBeDefined();
});
