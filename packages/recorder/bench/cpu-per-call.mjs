/**
 * CPU that the recorder takes per call, up to the segment: `node packages/recorder/bench/cpu-per-call.mjs [calls]`.
 * Plays 2 KB calls, plain and streamed in 20 chunks, into the built recorder, and subtracts what the same takes at level `off`.
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

/** CPU per call in ms. `timesHotPath`: only what runs on the program's path, else the whole process. */
async function measure(kind, level, timesHotPath) {
  const recorder = createRecorder({ env: { ...process.env, ORANGEBOX_DIR: join(dir, kind), ORANGEBOX_LEVEL: level } });
  let hotMicros = 0;
  const play = async (i) => {
    const request = encode({ model: 'gpt-test', messages: [{ role: 'user', content: `${i} ${text}` }] });
    const chunks = answers[kind](i);
    const begun = timesHotPath ? process.cpuUsage() : undefined;
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
    if (begun) {
      const used = process.cpuUsage(begun);
      hotMicros += used.user + used.system;
    }
    await new Promise(setImmediate);
  };
  for (let i = 0; i < 1000; i++) await play(i);
  await recorder.flush(1000);
  hotMicros = 0;
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) await play(1000 + i);
  await recorder.flush(10_000);
  const all = process.cpuUsage(before);
  recorder.flushSync('process_exit');
  return (timesHotPath ? hotMicros : all.user + all.system) / 1000 / calls;
}

try {
  for (const kind of Object.keys(answers)) {
    const [idle, all] = [await measure(kind, 'off', false), await measure(kind, 'full', false)];
    const [nothing, hot] = [await measure(kind, 'off', true), await measure(kind, 'full', true)];
    console.log(
      `${kind}: ${(hot - nothing).toFixed(3)} ms on the program's path, ${(all - idle).toFixed(3)} ms in all`,
    );
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
