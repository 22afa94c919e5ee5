/**
 * The program of `run-mode.mjs`: 200 turns of an agent, every other one streamed, with a tool that takes 5 ms, and the clock
 * and randomness asked as libraries do. What it took is written to the file named by `BENCH_USAGE`, outside its directory;
 * what it prints is a digest of what it saw.
 */
import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const [calls = '200', drawsPerCall = '20'] = process.argv.slice(2);
const client = new OpenAI();
const seen = createHash('sha256');
let kept = [];

for (let i = 0; i < Number(calls); i += 1) {
  for (let n = 0; n < Number(drawsPerCall); n += 1) seen.update(`${Math.random()} ${Date.now()}`);
  // A conversation of some length, begun anew every ten turns.
  if (i % 10 === 0)
    kept = [{ role: 'system', content: `You count oranges. ${randomUUID()} ${'Be exact. '.repeat(100)}` }];
  kept.push({ role: 'user', content: `How many are ${i} oranges at ${new Date().toISOString()}?` });
  const request = { model: 'orange-1', messages: kept };
  let content = '';
  if (i % 2 === 0) {
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
      content += chunk.choices[0]?.delta?.content ?? '';
    }
  } else {
    content = (await client.chat.completions.create(request)).choices[0].message.content;
  }
  kept.push({ role: 'assistant', content });
  seen.update(content);
  await sleep(5);
}
console.log(calls, 'calls', seen.digest('hex'));
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeFileSync(
    process.env.BENCH_USAGE,
    JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1000, peakKb: maxRSS }),
  );
});
