/** A small program that asks, waits, draws, starts a process and makes a file: whose recording is then tampered with. */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ask = async (content) => {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
    body: JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content }] }),
  });
  return (await response.json()).choices[0].message.content;
};
if (!existsSync('out')) mkdirSync('out');
writeFileSync(join('out', `${randomUUID()}.txt`), '');
console.log(await ask('first'), new Date().toISOString(), Math.random(), os.hostname());
await sleep(5);
console.log(execFileSync('echo', ['hello'], { encoding: 'utf8' }));
const child = spawn('cat');
child.stdin.end('fed');
child.stdout.pipe(process.stdout);
await new Promise((resolve) => child.once('close', resolve));
console.log(await ask('second'));
