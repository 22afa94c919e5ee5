/** One call to a server that waits 300 ms with its answer: what the first call costs before it leaves, and while it is awaited. */
import { performance } from 'node:perf_hooks';

const [url = ''] = process.argv.slice(2);
// A connection that is open already, and code that is warm: a plain page, not an LLM call.
for (let i = 0; i < 5; i += 1) await (await fetch(`${url}/warm`)).text();
const body = JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content: 'The first question' }] });
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-bench-0123456789abcdef' };
const loop = performance.eventLoopUtilization();
const startMs = performance.now();
const answer = await fetch(`${url}/delayed/v1/chat/completions`, { method: 'POST', headers, body });
await answer.text();
const latencyMs = performance.now() - startMs;
const arrivedMs = Number(answer.headers.get('x-arrived-ms')) - performance.timeOrigin - startMs;
const mainMs = performance.eventLoopUtilization(loop).active;
console.log(JSON.stringify({ calls: 1, arrivedMs, latencyMs, mainMs }));
