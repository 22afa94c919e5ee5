/**
 * CPU that the recorder takes per call, up to the segment: `node packages/recorder/bench/cpu-per-call.mjs [calls]`.
 * Plays 2 KB calls, plain and streamed, into the built recorder. `hot` is what runs on the program's path; `all` is the
 * whole process' CPU with the deferred work.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecorder } from '../dist/index.mjs';

const calls = Number(process.argv[2] ?? 3000);
const dir = mkdtempSync(join(tmpdir(), 'orangebox-bench-'));
const encode = (value) => new TextEncoder().encode(JSON.stringify(value));
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(20);
const requestHeaders = [
  ['host', 'api.example.test'],
  ['content-type', 'application/json'],
  ['authorization', 'Bearer sk-0123456789abcdef0123456789abcdef'],
  ['user-agent', 'OpenAI/JS 6.49.0'],
  ['x-stainless-retry-count', '0'],
  ['x-stainless-lang', 'js'],
  ['x-stainless-runtime', 'node'],
  ['content-length', '1000'],
];
const responseHeaders = [
  ['content-type', 'application/json'],
  ['x-request-id', 'req_0123456789'],
  ['openai-processing-ms', '120'],
  ['date', 'Mon, 30 Nov 2026 13:00:00 GMT'],
];
const answers = {
  plain: (i) => [
    encode({
      id: `chatcmpl-${i}`,
      object: 'chat.completion',
      model: 'gpt-test',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: `${i} ${text}` } }],
      usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
    }),
  ],
  streamed: (i) =>
    Array.from({ length: 20 }, (_, n) => {
      const delta = { role: 'assistant', content: ` word ${n} of ${i}` };
      const data = { id: `chatcmpl-${i}`, object: 'chat.completion.chunk', choices: [{ index: 0, delta }] };
      return new TextEncoder().encode(`data: ${JSON.stringify(data)}\n\n`);
    }),
};

async function run(kind) {
  const recorder = createRecorder({ env: { ...process.env, ORANGEBOX_DIR: join(dir, kind) } });
  let hotMicros = 0;
  const play = async (i) => {
    const request = encode({ model: 'gpt-test', messages: [{ role: 'user', content: `${i} ${text}` }] });
    const chunks = answers[kind](i);
    const begun = process.cpuUsage();
    const exchange = recorder.open({
      kind: 'llm',
      client: 'undici',
      method: 'POST',
      url: 'https://api.example.test/v1/chat/completions',
      startUnixNano: BigInt(Date.now()) * 1_000_000n,
      context: { scope: [], place: undefined },
    });
    exchange.requestHead(requestHeaders, []);
    exchange.requestChunk(request, 1000);
    exchange.requestEnd(2000);
    exchange.responseHead({
      status: 200,
      statusText: 'OK',
      headers: responseHeaders,
      atNano: 3000,
      delivery: 2 * i + 1,
    });
    chunks.forEach((chunk, n) => exchange.responseChunk(chunk, 4000 + n, 2 * i + 2));
    exchange.end({ ending: 'complete', stage: 'done' }, 5000);
    const hot = process.cpuUsage(begun);
    hotMicros += hot.user + hot.system;
    await new Promise(setImmediate);
  };
  for (let i = 0; i < 500; i++) await play(i);
  await recorder.flush(1000);
  hotMicros = 0;
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) await play(1000 + i);
  await recorder.flush(10_000);
  const used = process.cpuUsage(before);
  recorder.flushSync('process_exit');
  const { faults, calls: done } = recorder.stats();
  return {
    kind,
    calls: done,
    hotMs: +(hotMicros / 1000 / calls).toFixed(3),
    allMs: +((used.user + used.system) / 1000 / calls).toFixed(3),
    faults,
  };
}

try {
  for (const kind of Object.keys(answers)) console.log(JSON.stringify(await run(kind)));
} finally {
  rmSync(dir, { recursive: true, force: true });
}
