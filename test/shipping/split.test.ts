/** Split mode, end to end: metadata goes one way, payloads another, and a receiver in trouble is no trouble of the program. */
import { createHash } from 'node:crypto';
import type { Snapshot } from '@orangebox/schema';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { verifySnapshotDigest } from '@orangebox/codec';
import { type Provider, startProvider } from '../fixtures/provider/server.mjs';
import { type Behaviour, type OtlpReceiver, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { inRepository } from '../helpers/repository.ts';
import { type ProgramRun, runProgram } from '../preload/harness.ts';

const agent = inRepository('test/preload/plain.cjs');
/** Default of ORANGEBOX_EXIT_FLUSH_MS, and room for a busy machine. */
const LONGEST_EXIT_MS = 2000 + 2500;
const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

let provider: Provider;
let payloads: OtlpReceiver | undefined;

beforeAll(async () => {
  provider = await startProvider();
});

afterAll(async () => {
  await provider.close();
});

afterEach(async () => {
  await payloads?.close();
  payloads = undefined;
});

async function run(
  options: { behave?: Behaviour; env?: Record<string, string>; file?: string; exports?: boolean } = {},
) {
  payloads = await startOtlpReceiver(options.behave);
  const startMs = performance.now();
  const program = await runProgram({
    file: options.file ?? agent,
    flag: '--require',
    ...(options.exports ? { exports: true } : {}),
    env: { TEST_PROVIDER_URL: provider.url, ORANGEBOX_ENDPOINT: payloads.url, ...options.env },
  });
  return { program, receiver: payloads, tookMs: performance.now() - startMs };
}

const shippedKeys = (program: ProgramRun): string[] => [...program.shipped].sort();

it('sends metadata without payloads, and payloads whose digest stands on the span', async () => {
  const { program, receiver } = await run({ exports: true });
  expect([program.code, program.stderr]).toEqual([0, '']);
  expect(program.spans).toHaveLength(4);
  expect(receiver.payloads()).toHaveLength(4);

  const metadata = JSON.stringify(program.spans);
  expect(metadata).not.toContain('Say something.');
  expect(program.spans.flatMap((span) => span.events)).toEqual([]);

  for (const payload of receiver.payloads()) {
    const span = program.spans.find((s) => s.spanId === payload.span.spanId);
    expect(span?.attributes).toMatchObject({
      'orangebox.snapshot.key': payload.key,
      'orangebox.snapshot.digest': payload.digest,
      'orangebox.snapshot.size': payload.json?.length,
      'orangebox.snapshot.fidelity': 'exact',
    });
    const { traceId, parentSpanId, name, kind, startUnixNano, endUnixNano } = span ?? payload.span;
    expect(payload.span).toMatchObject({ traceId, parentSpanId, name, kind, startUnixNano, endUnixNano });
    expect(payload.span.attributes).toEqual({});
    const snapshot = payload.snapshot as Snapshot;
    expect(snapshot.digest).toBe(payload.digest);
    expect(verifySnapshotDigest(snapshot, sha256)).toBe(true);
    expect(JSON.stringify(snapshot)).not.toContain('sk-test-key');
  }
  expect(shippedKeys(program)).toEqual(
    receiver
      .payloads()
      .map((p) => p.key)
      .sort(),
  );
});

it('sends 30 MiB in parts', async () => {
  const { program, receiver } = await run({
    file: inRepository('test/shipping/big-call.cjs'),
    env: { TEST_IMAGE_BYTES: String(23 * 1024 * 1024), ORANGEBOX_EXIT_FLUSH_MS: '30000' },
  });
  expect([program.code, program.stdout]).toEqual([0, 'chat.completion\n']);
  const [payload] = receiver.payloads();
  expect(payload).toMatchObject({ complete: true, digest: program.calls[0]?.digest });
  expect(payload?.json?.length).toBeGreaterThan(30 * 1024 * 1024);
  expect(payload?.parts.length).toBeGreaterThanOrEqual(3);
  for (const request of receiver.requests) expect(request.sizeBytes).toBeLessThan(8 * 1024 * 1024 + 1024);
  expect(shippedKeys(program)).toEqual([payload?.key]);
});

const troubles: [name: string, behave: Behaviour, env?: Record<string, string>][] = [
  ['is down', () => ({}), { ORANGEBOX_ENDPOINT: 'http://127.0.0.1:9' }],
  ['has no address', () => ({}), { ORANGEBOX_ENDPOINT: 'https://orangebox.invalid' }],
  ['answers 503', () => ({ status: 503 })],
  ['answers 400', () => ({ status: 400 })],
  ['answers 413', () => ({ status: 413 })],
  ['answers 401', () => ({ status: 401 })],
  ['redirects elsewhere', () => ({ status: 308, headers: { location: 'http://127.0.0.1:9/' } })],
  ['never answers', () => ({ hang: true })],
  ['takes ten seconds to answer', () => ({ delayMs: 10_000 })],
  ['stops reading', () => ({ stopReading: true })],
  ['cuts the connection in mid-request', () => ({ closeAfterBytes: 1 })],
];

it.each(troubles)(
  'keeps everything in the segment when the receiver %s, and the program does not notice',
  async (_name, behave, env) => {
    const { program, tookMs } = await run({ behave, ...(env ? { env } : {}) });
    const without = await runProgram({ file: agent, env: { TEST_PROVIDER_URL: provider.url } });
    expect([program.code, program.stdout]).toEqual([without.code, without.stdout]);
    // One line at most, of a problem that somebody can do something about.
    expect(program.stderr.split('\n').filter(Boolean).length).toBeLessThanOrEqual(1);
    expect(tookMs).toBeLessThan(LONGEST_EXIT_MS + 3000);
    expect(program.calls).toHaveLength(4);
    for (const call of program.calls)
      expect(call).toMatchObject({ fidelity: { level: 'exact' }, key: expect.any(String) });
    expect(shippedKeys(program)).toEqual([]);
  },
);

it('lets a program end although a large payload is stuck in a socket that nobody reads', async () => {
  const { program, tookMs } = await run({
    behave: () => ({ stopReading: true }),
    file: inRepository('test/shipping/big-call.cjs'),
    env: { TEST_IMAGE_BYTES: String(6 * 1024 * 1024) },
  });
  expect([program.code, program.stdout]).toEqual([0, 'chat.completion\n']);
  expect(tookMs).toBeLessThan(LONGEST_EXIT_MS + 6000);
  expect(shippedKeys(program)).toEqual([]);
});

it('sends nothing over plain http to another machine', async () => {
  const { program } = await run({ env: { ORANGEBOX_ENDPOINT: 'http://collector.invalid:4319' } });
  expect(program.code).toBe(0);
  expect(program.stderr).toContain('ORANGEBOX_INSECURE');
  expect(program.calls).toHaveLength(4);
});

it('sends the configured headers to the payload endpoint only', async () => {
  const { program, receiver } = await run({
    exports: true,
    env: { ORANGEBOX_HEADERS: 'x-tenant=a%20b,authorization=Bearer%20t' },
  });
  expect(program.code).toBe(0);
  for (const { headers } of receiver.requests)
    expect(headers).toMatchObject({ 'x-tenant': 'a b', authorization: 'Bearer t' });
  expect(receiver.payloads().length).toBe(4);
});
