/** A shopkeeper with `runTools`: the SDK runs the loop, streamed and plain, several at once, one given up half-way. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import OpenAI from 'openai';
import { zodFunction } from 'openai/helpers/zod';
import { z } from 'zod';

const client = new OpenAI();
const ledger = new Map();
const item = z.object({ fruit: z.string() });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const tools = [
  zodFunction({
    name: 'look_up_price',
    description: 'The price of a fruit today',
    parameters: item,
    function: async ({ fruit }) => {
      await pause(Math.random() * 8);
      return { fruit, cents: Math.floor(50 + Math.random() * 500), day: new Date().toISOString().slice(0, 10) };
    },
  }),
  zodFunction({
    name: 'reserve',
    description: 'Puts a fruit aside',
    parameters: item,
    function: async ({ fruit }) => {
      const id = randomUUID();
      ledger.set(id, { fruit, at: Date.now() });
      return { fruit, reservation: id };
    },
  }),
  zodFunction({
    name: 'deliver',
    description: 'Sends a fruit off',
    parameters: item,
    function: ({ fruit }) =>
      fruit === 'Durian' ? 'nobody carries Durian' : { fruit, arrives: new Date(Date.now() + 864e5).toUTCString() },
  }),
];

const say = (who, text) => console.log(`${who}: ${text}`);
const order = (text) => [
  { role: 'system', content: `Shop ${process.pid}, open since ${performance.now().toFixed(1)} ms` },
  { role: 'user', content: text },
];

async function serve(customer, text) {
  const runner = client.chat.completions.runTools({ model: 'orange-1', messages: order(text), tools, stream: true });
  runner.on('functionToolCall', ({ name, arguments: args }) => say(customer, `calls ${name} ${args}`));
  runner.on('functionToolCallResult', (result) => say(customer, `gets ${result}`));
  runner.on('content', (delta) => process.stdout.write(`${customer[0]}<${delta}>`));
  const answer = await runner.finalContent();
  const usage = await runner.totalUsage();
  say(`\n${customer}`, `${answer} [${usage.total_tokens}]`);
  return { customer, answer, messages: runner.messages.length };
}

const visits = [await serve('Ida', 'I want a Quince, a Durian and a Pomelo.')];
visits.push(...(await Promise.all([serve('Jon', 'One Mango, please.'), serve('Kim', 'Send a Papaya, a Lychee.')])));

const plain = client.chat.completions.runTools(
  { model: 'orange-1', messages: order('Is there a Medlar?'), tools, parallel_tool_calls: false },
  { maxChatCompletions: 5 },
);
plain.on('message', ({ role }) => say('plain', role));
visits.push({ customer: 'Lou', answer: await plain.finalContent() });

const hasty = await client.chat.completions.create({
  model: 'orange-1',
  messages: order('Tell me all about fruit!'),
  stream: true,
});
let heard = 0;
for await (const { choices } of hasty) {
  if (choices[0]?.delta?.content) heard += 1;
  if (heard === 4) hasty.controller.abort();
}
say('hasty', `enough after ${heard}`);
writeFileSync('ledger.json', JSON.stringify({ visits, ledger: [...ledger], closed: new Date() }, null, 1));
process.on('exit', (code) => console.error(`closing with ${code} at ${Date.now()}`));
