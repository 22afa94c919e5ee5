/**
 * Calls as fast as they go, or with a pause after each, some at a time; prints how long they took. Arguments: base URL, calls, at a
 * time, bytes of the prompt, milliseconds of pause.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';

const [url = '', calls = '1', atOnce = '1', promptBytes = '1000', pauseMs = '0'] = process.argv.slice(2);
const latenciesMs = [];
let left = Number(calls);

async function worker() {
  while (left-- > 0) {
    const content = randomBytes(Math.ceil((Number(promptBytes) * 3) / 4)).toString('base64');
    const startMs = performance.now();
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-drill' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }),
    });
    await answer.json();
    latenciesMs.push(performance.now() - startMs);
    if (pauseMs !== '0') await wait(Number(pauseMs));
  }
}

const startMs = performance.now();
await Promise.all(Array.from({ length: Number(atOnce) }, worker));
const seconds = (performance.now() - startMs) / 1000;
latenciesMs.sort((a, b) => a - b);
const at = (share) => latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))];
process.stdout.write(
  JSON.stringify({ calls: latenciesMs.length, seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99) }),
);
