/** An agent whose requests hold outside values of ten sources, each in a request of its own; with `clean`, of none. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const client = new OpenAI();
const ask = (content) =>
  client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content: `Say something of ${content}` }],
  });

if (process.argv[2] === 'waits') {
  await ask('Lisbon');
  // Ends by a clock of these days, and by no later one.
  while (Date.now() > Number(process.argv[3]));
} else if (process.argv[2] === 'clean') {
  const startMs = performance.now();
  for (const city of ['Lisbon', 'Oslo', 'Riga']) {
    await sleep(Number(randomBytes(1)[0] > -1));
    await ask(city);
  }
  // What reaches the output alone is no source of a request.
  console.log(
    new Date().toISOString(),
    randomUUID(),
    Math.random(),
    performance.now() - startMs,
    process.pid,
    hostname(),
  );
} else {
  await ask(Date.now());
  await ask(new Date().toLocaleDateString('en'));
  await ask(Math.random().toString(36).slice(2));
  await ask(randomUUID());
  await ask(createHash('sha256').update(randomBytes(8)).digest('hex'));
  await ask(hostname());
  await ask(process.pid);
  await ask(Math.round(performance.now()));
  await ask(Object.keys(process.env).find((name) => name === 'PATH' || name === 'HOME'));
  await ask(Math.random() < 2 ? new Intl.DateTimeFormat('en', { timeStyle: 'medium' }).format() : 'nothing');
  console.log('asked ten times');
}
