/** A travel planner: a chat loop with `openai`, its answers streamed, its tools run side by side. */
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const client = new OpenAI({ maxRetries: 3 });
const session = randomUUID();
const startMs = performance.now();
const diary = [`# Travel plans of ${new Date().toLocaleString('en-GB', { timeZone: 'UTC' })}`, ''];

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [
  ['get_weather', 'Tomorrow’s weather in a city', city],
  ['find_train', 'The next train to a city', city],
  ['find_room', 'A room for one night', { ...city, properties: { ...city.properties, nights: { type: 'integer' } } }],
].map(([name, description, parameters]) => ({ type: 'function', function: { name, description, parameters } }));

/** Answers as slow services do: not in the order in which they were asked. */
const run = {
  async get_weather({ city }) {
    await sleep(Math.random() * 12);
    return { city, degrees: Math.round(Math.random() * 40 - 10), measured: new Date().toISOString() };
  },
  async find_train({ city }) {
    if (city.length > 6) throw new Error(`no train goes to ${city}`);
    await sleep(3 + Math.random() * 9);
    return {
      city,
      departs: new Date(Date.now() + 3_600_000 * Math.random()).toISOString(),
      seat: randomBytes(2).toString('hex'),
    };
  },
  async find_room({ city, nights }) {
    return { city, nights, price: Number((40 + Math.random() * 100).toFixed(2)), booking: randomUUID() };
  },
};

async function runTool({ id, function: { name, arguments: text } }) {
  let content;
  try {
    content = JSON.stringify(await run[name](JSON.parse(text)));
  } catch (error) {
    console.error(`tool ${name} failed: ${error.message}`);
    content = JSON.stringify({ error: error.message });
  }
  console.log(`  ${name}(${text}) = ${content}`);
  return { role: 'tool', tool_call_id: id, content };
}

const messages = [
  { role: 'system', content: `You plan trips. Session ${session}; today is ${new Date().toDateString()}.` },
];

async function turn() {
  const stream = await client.chat.completions.create({
    model: 'orange-1',
    messages,
    tools,
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = '';
  let tokens = 0;
  const calls = [];
  for await (const { choices, usage } of stream) {
    tokens = usage?.total_tokens ?? tokens;
    const delta = choices[0]?.delta ?? {};
    process.stdout.write(delta.content ?? '');
    content += delta.content ?? '';
    for (const part of delta.tool_calls ?? []) {
      calls[part.index] ??= { id: part.id, type: 'function', function: { name: part.function.name, arguments: '' } };
      calls[part.index].function.arguments += part.function.arguments;
    }
  }
  messages.push({ role: 'assistant', content: content || null, ...(calls.length > 0 && { tool_calls: calls }) });
  console.log(`${content && '\n'}[${tokens} tokens, ${(performance.now() - startMs).toFixed(3)} ms]`);
  return { content, calls };
}

async function ask(question) {
  console.log(`> ${question}`);
  messages.push({ role: 'user', content: question });
  for (;;) {
    const { content, calls } = await turn();
    if (calls.length === 0) {
      diary.push(`## ${question}`, content, '');
      return;
    }
    // In the order in which they are done, as they come.
    await Promise.all(calls.map(async (call) => messages.push(await runTool(call))));
  }
}

await ask('Shall I go to Lisbon, to Oslo, or to Rome tomorrow?');
await ask('And to Marseille, or to Bern?');

const cards = ['Anna', 'Ben', 'Cleo', 'Dora'].map(async (name) => {
  const { choices } = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content: `A postcard to ${name}, stamp ${Math.floor(Math.random() * 1e6)}` }],
  });
  return `${name}: ${choices[0].message.content}`;
});
console.log('first card', await Promise.race(cards));
diary.push(...(await Promise.all(cards)));

await writeFile(
  `plans-${session.slice(0, 8)}.md`,
  `${diary.join('\n')}\nWritten at ${Date.now()}, by ${process.pid}\n`,
);
console.error(`session ${session} ended after ${process.hrtime.bigint()} ns`);
process.exitCode = 3;
