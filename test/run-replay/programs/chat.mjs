/** A chat loop with the `openai` package, as anybody would write it: streams, parallel tools, ids, clock and randomness. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const client = new OpenAI();
const session = randomUUID();
console.log(`session ${session}, ${new Date().toISOString()}, ${Math.random()}`);
const messages = [
  { role: 'system', content: `You plan trips. Session ${session}. Today is ${new Date().toDateString()}.` },
  { role: 'user', content: 'Should I go to Lisbon or to Oslo tomorrow?' },
];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function', function: { name: 'get_weather', description: 'The weather', parameters } }];

async function answer() {
  const stream = await client.chat.completions.create({ model: 'orange-1', messages, tools, stream: true });
  let text = '';
  const calls = [];
  for await (const chunk of stream) {
    const { content, tool_calls: parts = [] } = chunk.choices[0]?.delta ?? {};
    if (content) {
      text += content;
      process.stdout.write(content);
    }
    for (const part of parts) {
      calls[part.index] ??= { id: part.id, type: 'function', function: { name: '', arguments: '' } };
      calls[part.index].function.name += part.function?.name ?? '';
      calls[part.index].function.arguments += part.function?.arguments ?? '';
    }
  }
  messages.push({ role: 'assistant', content: text || null, ...(calls.length > 0 && { tool_calls: calls }) });
  return calls;
}

async function weather(call) {
  await sleep(Math.random() * 10);
  const result = { ...JSON.parse(call.function.arguments), degrees: Math.floor(Math.random() * 30) };
  result.station = randomBytes(4).toString('hex');
  return { role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) };
}

for (let turn = 0; turn < 6; turn += 1) {
  const startMs = performance.now();
  const calls = await answer();
  console.log(`\nturn ${turn}: ${calls.length} tools, ${performance.now() - startMs} ms, until ${Date.now()}`);
  if (calls.length > 0) messages.push(...(await Promise.all(calls.map(weather))));
  else messages.push({ role: 'user', content: `And on day ${turn}? (${Math.random()})` });
}
const ask = (text) =>
  client.chat.completions.create({ model: 'orange-1', messages: [{ role: 'user', content: text }] });
const postcards = ['Anna', 'Ben', 'Cleo'].map(async (name) => {
  const { choices } = await ask(`A postcard to ${name}, number ${Math.random()}`);
  console.log(`${name}: ${choices[0].message.content}`);
});
await Promise.all(postcards);
console.log(process.hrtime.bigint(), process.pid, new Intl.DateTimeFormat('en').format());
console.error('done');
process.exitCode = 3;
