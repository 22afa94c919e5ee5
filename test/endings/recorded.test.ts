/**
 * Every way in which a call can end, under the built preload: one snapshot with the right ending and bytes, one ended
 * span, and for the program the same outcome as without.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closedPort } from '../helpers/closed-port.ts';
import { inRepository } from '../helpers/repository.ts';
import { type Outcome, runProgram } from './harness.ts';
import { type Provider, startProvider } from './provider.mjs';
import {
  endingOf,
  type RecordedRun,
  recordedSpans,
  requestText,
  responseText,
  runRecorded,
  spanFacts,
} from './recorded.ts';

const program = inRepository('test/endings/program.mjs');
const CLIENT = 3;
let provider: Provider;
let refusing: number;
let runs = 0;

beforeAll(async () => {
  [provider, refusing] = await Promise.all([startProvider(), closedPort()]);
});
afterAll(async () => {
  await provider.close();
});

interface Case {
  name: string;
  use: string;
  way: string;
  /** `ending/stage/status` of each attempt, per call. */
  calls: string[][];
  /** `error.type` of the call's span: with the client of the platform, and with that of Node's `http`. */
  error?: string | [undici: string, http: string];
  /** The program ends before spans can be sent: they stand in the segment only. */
  unsent?: true;
  base?: () => string;
  /** Never settles with node-fetch 2: the program just ends. */
  silentOverHttp?: true;
}

const ok = 'complete/done/200';
const cases: Case[] = [
  { name: 'a plain answer', use: 'plain', way: 'ok', calls: [[ok]] },
  { name: 'a streamed answer', use: 'stream', way: 'stream', calls: [[ok]] },
  { name: 'a 401', use: 'plain', way: '401', calls: [['complete/done/401']], error: '401' },
  { name: 'a 400', use: 'plain', way: '400', calls: [['complete/done/400']], error: '400' },
  { name: 'a 404', use: 'plain', way: '404', calls: [['complete/done/404']], error: '404' },
  { name: 'a 429 that the SDK retries', use: 'retried', way: '429', calls: [['complete/done/429', ok]] },
  { name: 'a 500', use: 'plain', way: '500', calls: [['complete/done/500']], error: '500' },
  {
    name: 'a 500 that the SDK retries in vain',
    use: 'retried',
    way: '500',
    calls: [['complete/done/500', 'complete/done/500', 'complete/done/500']],
    error: '500',
  },
  {
    name: 'a refused connection',
    use: 'plain',
    way: 'ok',
    base: () => `http://127.0.0.1:${refusing}/ok`,
    calls: [['connect_failed/connect/undefined']],
    error: 'ECONNREFUSED',
  },
  {
    name: 'a refused connection that the SDK retries in vain',
    use: 'retried',
    way: 'ok',
    base: () => `http://127.0.0.1:${refusing}/ok`,
    calls: [Array(3).fill('connect_failed/connect/undefined')],
    error: 'ECONNREFUSED',
  },
  {
    name: 'an unknown host',
    use: 'plain',
    way: 'ok',
    base: () => 'http://nowhere.invalid/ok',
    calls: [['connect_failed/connect/undefined']],
    error: 'ENOTFOUND',
  },
  {
    name: 'a server that does not speak TLS',
    use: 'plain',
    way: 'ok',
    base: () => `https://127.0.0.1:${provider.port}/ok`,
    calls: [['connect_failed/connect/undefined']],
    error: ['ERR_SSL_WRONG_VERSION_NUMBER', 'EPROTO'],
  },
  {
    name: 'a reset before the head',
    use: 'plain',
    way: 'reset',
    calls: [['reset/response_head/undefined']],
    error: 'ECONNRESET',
  },
  {
    name: 'a reset before the head that the SDK retries',
    use: 'retried',
    way: 'reset-once',
    calls: [['reset/response_head/undefined', ok]],
  },
  {
    name: 'a hang-up before the head',
    use: 'plain',
    way: 'hangup',
    calls: [['reset/response_head/undefined']],
    error: ['UND_ERR_SOCKET', 'ECONNRESET'],
  },
  {
    name: 'a stream cut in the middle',
    use: 'stream',
    way: 'cut',
    calls: [['cut/response_body/200']],
    error: ['UND_ERR_SOCKET', 'ECONNRESET'],
  },
  {
    name: 'a plain body cut in the middle',
    use: 'plain',
    way: 'cut-plain',
    calls: [['cut/response_body/200']],
    error: ['UND_ERR_SOCKET', 'ECONNRESET'],
    silentOverHttp: true,
  },
  {
    name: 'an error frame in the stream',
    use: 'stream',
    way: 'error-frame',
    calls: [[ok]],
    error: 'server_error',
  },
  {
    name: 'the request timeout of the SDK',
    use: 'timeout',
    way: 'silent',
    calls: [['timeout/response_head/undefined']],
    error: 'timeout',
  },
  {
    name: 'the request timeout of the SDK, retried in vain',
    use: 'timeout-retried',
    way: 'silent',
    calls: [['timeout/response_head/undefined', 'timeout/response_head/undefined']],
    error: 'timeout',
  },
  {
    name: 'a signal of AbortSignal.timeout',
    use: 'abort-signal-timeout',
    way: 'silent',
    calls: [['timeout/response_head/undefined']],
    error: 'timeout',
  },
  { name: 'a signal that is aborted before the request', use: 'aborted-already', way: 'ok', calls: [] },
  {
    name: 'an abort before the head',
    use: 'abort-before-head',
    way: 'silent',
    calls: [['caller_abort/response_head/undefined']],
    error: 'caller_abort',
  },
  {
    name: 'an abort within the stream',
    use: 'abort-in-stream',
    way: 'half-silent',
    calls: [['caller_abort/response_body/200']],
    error: 'caller_abort',
  },
  {
    name: 'a break out of the stream',
    use: 'break',
    way: 'half-silent',
    calls: [['caller_stopped_reading/response_body/200']],
  },
  {
    name: 'a stream that is never read',
    use: 'never-read-to-the-end',
    way: 'flood',
    calls: [['caller_stopped_reading/response_body/200']],
  },
  {
    name: 'process.exit while a stream is not read',
    use: 'never-read',
    way: 'flood',
    calls: [['caller_stopped_reading/response_body/200']],
    unsent: true,
  },
  { name: 'process.exit after the answer', use: 'exit', way: 'ok', calls: [[ok]], unsent: true },
  {
    name: 'process.exit within the stream',
    use: 'exit-in-stream',
    way: 'half-silent',
    calls: [['process_exit/response_body/200']],
    error: 'process_exit',
    unsent: true,
  },
  {
    name: 'a signal between two attempts, on which the program goes on',
    use: 'signalled-between',
    way: 'slow-429',
    calls: [['complete/done/429', ok]],
  },
  {
    name: 'two equal calls in parallel, each retried',
    use: 'parallel',
    way: 'twice-429',
    calls: [
      ['complete/done/429', ok],
      ['complete/done/429', ok],
    ],
  },
];

describe.each([
  ['openai 6 over fetch', 'undici', {}],
  ['openai 4 over http', 'http', { OPENAI_FROM: inRepository('test/programs/openai-4/package.json') }],
] as const)('calls made with %s', (_version, client, env) => {
  it.for(cases)('$name', async (one) => {
    const bareRun = `run${String(runs++).padStart(4, '0')}`;
    const run = `run${String(runs++).padStart(4, '0')}`;
    const url = (name: string): string => (one.base ? `${one.base()}/${name}/v1` : `${provider.base(one.way, name)}`);
    const [bare, recorded] = await Promise.all([
      runProgram(program, { env, args: [one.use, url(bareRun)] }),
      runRecorded(program, { env, args: [one.use, url(run)] }),
    ]);

    // The program noticed nothing.
    expect(visible(recorded, run)).toEqual(visible(bare, bareRun));
    expect(bare.stdout === '').toBe(client === 'http' && one.silentOverHttp === true);

    expectSnapshots(recorded, one.calls, run);
    expectSpans(recorded, one, client);
  });
});

/** One snapshot per call, with the attempts and the bytes that the provider saw and sent. */
function expectSnapshots({ snapshots, calls }: RecordedRun, expected: string[][], run: string): void {
  expect(snapshots.map(({ exchanges }) => exchanges.map(endingOf))).toEqual(expected);
  expect(snapshots.map(({ fidelity }) => fidelity)).toEqual(expected.map(() => ({ level: 'exact' })));
  expect(calls.map(({ digest }) => digest).sort()).toEqual(snapshots.map(({ digest }) => digest).sort());
  const exchanges = snapshots.flatMap((snapshot) => snapshot.exchanges);
  const seen = provider.seen.filter(({ url }) => url.includes(run));
  for (const exchange of exchanges.filter(({ ending }) => ending !== 'connect_failed')) {
    const texts = (list: Buffer[]): string => Buffer.concat(list).toString();
    const got = responseText(exchange);
    // Attempts of parallel calls are equal in the request, so that one with the same answer will do.
    const match = seen.findIndex(({ body, sent }) => {
      if (body.toString() !== requestText(exchange)) return false;
      return exchange.ending === 'caller_stopped_reading' ? texts(sent).startsWith(got) : texts(sent) === got;
    });
    expect(match, `nothing was sent like ${got.slice(0, 200)}`).toBeGreaterThanOrEqual(0);
    if (exchange.stage === 'response_body') expect(got).not.toBe('');
    seen.splice(match, 1);
  }
  // Nothing reached the provider that is not on record.
  expect(seen).toEqual([]);
}

/** One ended span per call, its attempts beneath it, in the segment and, where there was time, at the receiver. */
function expectSpans({ calls, snapshots, sent, payloads }: RecordedRun, one: Case, client: 'undici' | 'http'): void {
  const type = typeof one.error === 'object' ? one.error[client === 'undici' ? 0 : 1] : one.error;
  const recorded = calls.map(recordedSpans);
  for (const [i, [own, ...attempts]] of recorded.entries()) {
    const snapshot = snapshots.find(({ id }) => id === calls[i]?.trace.spanId);
    const statuses = snapshot?.exchanges.map(({ response }) => response?.status) ?? [];
    expect(own?.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'orangebox.snapshot.key': calls[i]?.key });
    expect([own?.kind, own?.attributes['error.type'], own?.status.code]).toEqual([CLIENT, type, type ? 2 : 0]);
    expect(own?.attributes['http.response.status_code']).toBe(statuses.at(-1));
    expect(own?.endUnixNano).toBe(snapshot?.time.endUnixNano);
    expect(attempts.map((span) => span.parentSpanId)).toEqual(attempts.map(() => own?.spanId));
    expect(attempts.map((span) => span.attributes['http.response.status_code'])).toEqual(
      statuses.length > 1 ? statuses : [],
    );
    expect(attempts.map((span) => span.attributes['http.request.resend_count'])).toEqual(
      statuses.length > 1 ? statuses.map((_, n) => (n === 0 ? undefined : n)) : [],
    );
    expect(attempts.some((span) => 'orangebox.snapshot.key' in span.attributes)).toBe(false);
  }
  if (one.unsent) return;
  const byId = (a: Record<string, unknown>, b: Record<string, unknown>): number =>
    String(a['spanId']) < String(b['spanId']) ? -1 : 1;
  expect(sent.map(spanFacts).sort(byId)).toEqual(recorded.flat().map(spanFacts).sort(byId));
  expect(payloads.sort()).toEqual(calls.map(({ digest }) => digest).sort());
}

/** What can be seen of a program: both runs name the same things but for the run, the local port and OpenSSL's address. */
function visible({ stdout, stderr, code, signal }: Outcome, run: string): Omit<Outcome, 'exchanges'> {
  const clean = (text: string): string =>
    text
      .replaceAll(run, 'run')
      .replace(/"localPort":\d+/g, '"localPort":0')
      .replace(/[0-9A-F]{12,}:error/g, 'error');
  return { stdout: clean(stdout), stderr: clean(stderr), code, signal };
}
