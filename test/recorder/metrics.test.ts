/** Metrics of real programs, as an OTLP receiver decodes them. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { finished } from '../helpers/finished.ts';
import { type OtlpReceiver, type ReceivedPoint, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { inRepository } from '../helpers/repository.ts';
import { readRecording, registerFile } from '../preload/harness.ts';

const PROGRAM = inRepository('test/recorder/metrics-program.mjs');
const DURATION = 'gen_ai.client.operation.duration';
const TOKENS = 'gen_ai.client.token.usage';
const FIRST_CHUNK = 'gen_ai.client.operation.time_to_first_chunk';

let provider: Server;
let providerUrl = '';
let receiver: OtlpReceiver;
let dir = '';

beforeAll(async () => {
  provider = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const { model, stream } = JSON.parse(text) as { model: string; stream?: boolean };
      if (model === 'missing') {
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end('{"error":{"message":"no such model","type":"invalid_request_error"}}');
        return;
      }
      const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
      if (stream) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const frame = (data: object): string => `data: ${JSON.stringify({ model: `${model}-1`, ...data })}\n\n`;
        response.write(frame({ choices: [{ index: 0, delta: { role: 'assistant', content: 'hel' } }] }));
        response.write(frame({ choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: 'stop' }] }));
        response.end(`${frame({ choices: [], usage })}data: [DONE]\n\n`);
        return;
      }
      const message = { role: 'assistant', content: 'hello' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ model: `${model}-1`, choices: [{ index: 0, message, finish_reason: 'stop' }], usage }),
      );
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  return () => void provider.close();
});

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  dir = mkdtempSync(join(tmpdir(), 'orangebox-metrics-'));
});

afterEach(async () => {
  await receiver.close();
  rmSync(dir, { recursive: true, force: true });
});

async function run(env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--require', registerFile, PROGRAM], {
    env: {
      PATH: process.env['PATH'],
      ORANGEBOX_DIR: dir,
      ORANGEBOX_EXIT_FLUSH_MS: '5000',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_SERVICE_NAME: 'measured',
      TEST_PROVIDER_URL: providerUrl,
      TEST_CALLS: JSON.stringify([{ model: 'a' }, { model: 'a', stream: true }, { model: 'missing' }, { model: 'b' }]),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = await finished(child);
  return { ...ended, ...readRecording(dir) };
}

const named = (points: readonly ReceivedPoint[], name: string, attributes: Record<string, unknown> = {}) =>
  points.filter(
    (point) => point.name === name && Object.entries(attributes).every(([key, v]) => point.attributes[key] === v),
  );
const total = (points: readonly ReceivedPoint[]): number => points.reduce((sum, p) => sum + (p.count ?? 0), 0);

function expectGenAi(points: readonly ReceivedPoint[]): void {
  const spans = receiver.metadataSpans();
  expect(spans).toHaveLength(4);
  const seconds = spans.reduce((sum, s) => sum + Number(BigInt(s.endUnixNano) - BigInt(s.startUnixNano)) / 1e9, 0);
  const durations = named(points, DURATION);
  expect(total(durations)).toBe(4);
  expect(durations.reduce((sum, p) => sum + (p.sum ?? 0), 0)).toBeCloseTo(seconds, 9);
  expect(durations[0]).toMatchObject({ unit: 's', type: 'histogram', scope: 'orangebox', exemplars: 0 });
  expect(durations[0]?.schemaUrl).toMatch(/\/schemas\/1\.45\.0$/);
  expect(durations[0]?.bounds).toEqual([
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
  ]);
  expect(named(points, DURATION, { 'gen_ai.request.model': 'a' })[0]).toMatchObject({
    count: 2,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': expect.any(String) as string,
      'gen_ai.request.model': 'a',
      'gen_ai.response.model': 'a-1',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(providerUrl).port),
    },
  });
  expect(named(points, DURATION, { 'error.type': '404' })[0]).toMatchObject({
    count: 1,
    attributes: { 'gen_ai.request.model': 'missing' },
  });
  for (const [type, each] of [
    ['input', 11],
    ['output', 7],
  ] as const) {
    const tokens = named(points, TOKENS, { 'gen_ai.token.type': type });
    expect(total(tokens)).toBe(3);
    expect(tokens.reduce((sum, p) => sum + (p.sum ?? 0), 0)).toBe(3 * each);
    expect(tokens[0]?.bounds?.slice(0, 3)).toEqual([1, 4, 16]);
    expect(tokens[0]?.bounds).toHaveLength(14);
  }
  const streamed = spans.find(({ attributes }) => attributes['gen_ai.response.time_to_first_chunk'] !== undefined);
  const firstChunks = named(points, FIRST_CHUNK);
  expect(total(firstChunks)).toBe(1);
  expect(firstChunks[0]?.sum).toBe(streamed?.attributes['gen_ai.response.time_to_first_chunk']);
}

const protocols = ['http/protobuf', 'http/json'];
it.each(protocols)('a private provider exports what stands on the spans, by %s', async (protocol) => {
  const result = await run({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
  expect(result.stderr).toBe('');
  const points = receiver.metrics();
  expectGenAi(points);
  expect(points[0]?.resource).toMatchObject({
    'service.name': 'measured',
    'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  });
  expect(named(points, 'orangebox.recorder.recorded', { 'orangebox.snapshot.kind': 'llm' })[0]?.value).toBe(4);
  expect(named(points, 'orangebox.recorder.segment.bytes')[0]?.value).toBeGreaterThan(1000);
  expect(named(points, 'orangebox.recorder.segment.size')[0]?.value).toBeGreaterThan(1000);
  expect(named(points, 'orangebox.recorder.sent')).toEqual([]);
  // The exporter's requests were not recorded.
  expect(result.calls).toHaveLength(4);
});

it("an application's own meter provider does, and no other is loaded", async () => {
  const result = await run({ TEST_SETUP: 'own' });
  expect(result.stderr).toBe('');
  const requests = receiver.requests.filter(({ metrics }) => metrics.length > 0);
  expect(requests).toHaveLength(1);
  expectGenAi(receiver.metrics());
  expect(named(receiver.metrics(), 'app.own')).toHaveLength(1);
});

it('says what was sent and what was refused, and what waits', async () => {
  const payloads = await startOtlpReceiver(({ number }) => (number === 1 ? { status: 400 } : {}));
  try {
    const go = join(dir, 'go');
    const running = run({ ORANGEBOX_ENDPOINT: payloads.url, OTEL_METRIC_EXPORT_INTERVAL: '50', TEST_WAIT_FOR: go });
    // At its interval, while the program runs.
    await receiver.until(() => named(receiver.metrics(), 'orangebox.recorder.sent')[0]?.value === 3);
    writeFileSync(go, '');
    await running;
    const points = receiver.metrics();
    expect(named(points, 'orangebox.recorder.sent')[0]).toMatchObject({ value: 3, type: 'sum' });
    expect(named(points, 'orangebox.recorder.dropped', { 'orangebox.reason': 'refused' })[0]?.value).toBe(1);
    expect(named(points, 'orangebox.recorder.pending')[0]?.value).toBe(0);
    expect(named(points, 'orangebox.recorder.oldest_unsent.age')[0]?.value).toBe(0);
  } finally {
    await payloads.close();
  }
});

it('tells of a payload that nobody takes how long it has waited', async () => {
  const payloads = await startOtlpReceiver(() => ({ status: 503 }));
  try {
    await run({ ORANGEBOX_ENDPOINT: payloads.url, ORANGEBOX_EXIT_FLUSH_MS: '1500' });
    const points = receiver.metrics();
    expect(named(points, 'orangebox.recorder.pending')[0]?.value).toBe(4);
    expect(named(points, 'orangebox.recorder.oldest_unsent.age')[0]?.value).toBeGreaterThan(0);
  } finally {
    await payloads.close();
  }
});

const off: [string, Record<string, string>][] = [
  ['OTEL_METRICS_EXPORTER=none', { OTEL_METRICS_EXPORTER: 'none' }],
  ['OTEL_SDK_DISABLED=true', { OTEL_SDK_DISABLED: 'true' }],
];
it.each(off)('are not sent with %s', async (_name, env) => {
  const result = await run(env);
  expect(result.calls).toHaveLength(4);
  expect(receiver.requests.filter(({ path }) => path.endsWith('/v1/metrics'))).toEqual([]);
});

it('do not hold up a program whose collector never answers', async () => {
  receiver.behave(() => ({ hang: true }));
  const startMs = performance.now();
  const result = await run({ ORANGEBOX_EXIT_FLUSH_MS: '300' });
  expect(JSON.parse(result.stdout)).toEqual([200, 200, 404, 200]);
  // Far below the exporter's ten seconds.
  expect(performance.now() - startMs).toBeLessThan(5000);
});
