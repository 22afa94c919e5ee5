/**
 * The program that is measured: calls in a row through `fetch`, each answer read to its end. At exit it prints one JSON line:
 * CPU and main-thread milliseconds per call, with all that was put off until later, and every call's latency.
 * Arguments: base URL, path, bytes of the request, warm-up calls, measured calls.
 */
import { performance } from 'node:perf_hooks';

const [url = '', path = '', sizeText = '0', warmText = '0', countText = '0'] = process.argv.slice(2);
const filler = 'An orange is round, and so is this text. '
  .repeat(Math.ceil(Number(sizeText) / 41))
  .slice(0, Number(sizeText));
const stream = path.startsWith('/stream');
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-bench-0123456789abcdef' };

async function call(i) {
  const messages = [{ role: 'user', content: `${i} ${filler}` }];
  const body = JSON.stringify({ model: 'orange-1', messages, ...(stream && { stream: true }) });
  const startMs = performance.now();
  const answer = await fetch(`${url}${path}/v1/chat/completions`, { method: 'POST', headers, body });
  if (stream) for await (const chunk of answer.body) void chunk;
  else await answer.text();
  return performance.now() - startMs;
}

const warm = Number(warmText);
const count = Number(countText);
for (let i = 0; i < warm; i += 1) await call(i);
const latencies = [];
const cpu = process.cpuUsage();
const loop = performance.eventLoopUtilization();
for (let i = 0; i < count; i += 1) latencies.push(await call(warm + i));

process.on('exit', () => {
  const used = process.cpuUsage(cpu);
  const busy = performance.eventLoopUtilization(loop);
  const result = {
    cpuMs: (used.user + used.system) / 1000 / count,
    mainMs: busy.active / count,
    latencies: latencies.map((ms) => Number(ms.toFixed(3))),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
});
