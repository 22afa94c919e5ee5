/**
 * The program that is measured: calls in a row through `fetch`, each answer read to its end. At exit it prints one JSON line:
 * CPU and main-thread milliseconds per call, with all that was put off until later, every call's latency, and of streams how
 * long their chunks took from the socket to the program.
 * Arguments: base URL, path, bytes of the request, warm-up calls of this kind, measured calls.
 */
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

const [url = '', path = '', sizeText = '0', warmText = '0', countText = '0'] = process.argv.slice(2);
/** A prompt of so many bytes. */
const prompt = (bytes) => 'An orange is round, and so is this text. '.repeat(Math.ceil(bytes / 41)).slice(0, bytes);
const filler = prompt(Number(sizeText));
/** Calls that have the compiler look at all that runs once per call, whatever its size. */
const small = { path: '/plain/2k', filler: prompt(1_900), count: 2_500 };
const stream = path.startsWith('/stream');
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-bench-0123456789abcdef' };

/** When the newest bytes came to a socket, and in which turn of the event loop. */
const arrival = { atMs: 0, turn: 0 };
let turn = 0;
const delays = [];
let late = 0;

function watchSockets() {
  const { push } = Socket.prototype;
  Socket.prototype.push = function (chunk, encoding) {
    if (chunk !== null) {
      arrival.atMs = performance.now();
      arrival.turn = turn;
      setImmediate(() => (turn += 1));
    }
    return push.call(this, chunk, encoding);
  };
}

async function readStream(body) {
  for await (const chunk of body) {
    void chunk;
    delays.push(performance.now() - arrival.atMs);
    if (turn !== arrival.turn) late += 1;
  }
}

async function smallCall(i) {
  const body = JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content: `${i} ${small.filler}` }] });
  await (await fetch(`${url}${small.path}/v1/chat/completions`, { method: 'POST', headers, body })).text();
}

async function call(i) {
  const messages = [{ role: 'user', content: `${i} ${filler}` }];
  const body = JSON.stringify({ model: 'orange-1', messages, ...(stream && { stream: true }) });
  const startMs = performance.now();
  const answer = await fetch(`${url}${path}/v1/chat/completions`, { method: 'POST', headers, body });
  if (stream) await readStream(answer.body);
  else await answer.text();
  return performance.now() - startMs;
}

/** What the main thread has run so far, ms: its own time where the system tells it, else that of its event loop. */
function mainMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.eventLoopUtilization().active;
  }
}

const warm = Number(warmText);
const count = Number(countText);
if (stream) watchSockets();
for (let i = 0; i < small.count; i += 1) await smallCall(i);
for (let i = 0; i < warm; i += 1) await call(i);
// What the warm-up has left to be sent is not part of the measurement.
await pause(1_000);
const latencies = [];
delays.length = 0;
late = 0;
const cpu = process.cpuUsage();
const mainBeforeMs = mainMs();
for (let i = 0; i < count; i += 1) latencies.push(await call(warm + i));

/** Sorting is left to after the measurement. */
const quantiles = (list) => {
  const sorted = list.sort((a, b) => a - b);
  const at = (q) => Number((sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0).toFixed(3));
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
};

process.on('exit', () => {
  const used = process.cpuUsage(cpu);
  const mainAfterMs = mainMs();
  const result = {
    calls: small.count + warm + count,
    cpuMs: (used.user + used.system) / 1000 / count,
    mainMs: (mainAfterMs - mainBeforeMs) / count,
    latencies: latencies.map((ms) => Number(ms.toFixed(3))),
    ...(stream && { delays: quantiles(delays), lateShare: late / Math.max(1, delays.length) }),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
});
