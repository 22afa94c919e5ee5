/** An agent of some turns that takes from everywhere a program can: files, environment, clock, chance, tools. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { weather } from './tools.mjs';

const client = new OpenAI();
const session = randomUUID();
const tone = process.env.TONE ?? 'kind';
const topic = process.env.TOPIC ?? 'travel';
const brief = readFileSync(new URL('brief.txt', import.meta.url), 'utf8').trim();
const started = new Date();
const messages = [
  { role: 'system', content: `Be ${tone}. ${brief} The session is ${session}.` },
  { role: 'user', content: 'Should I go to Lisbon or to Oslo tomorrow?' },
];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function', function: { name: 'get_weather', description: 'The weather', parameters } }];

for (let turn = 0; turn < 4; turn += 1) {
  const { choices } = await client.chat.completions.create({ model: 'orange-1', messages, tools, temperature: 0.5 });
  const { message } = choices[0];
  messages.push(message);
  console.log(`turn ${turn}: ${message.content ?? 'tools'}`);
  for (const call of message.tool_calls ?? []) {
    const content = JSON.stringify(weather(JSON.parse(call.function.arguments).city));
    messages.push({ role: 'tool', tool_call_id: call.id, content });
  }
  if (!message.tool_calls) messages.push({ role: 'user', content: `And on day ${turn}, for ${topic}?` });
}
const ask = (content) => client.chat.completions.create({ model: 'orange-2', messages: [{ role: 'user', content }] });
const models = await client.models.list();
const summary = await ask(`Sum it up. It was ${started.toISOString()}, with ${models.data.length} models.`);
const title = await ask('Give it a title.');
console.log(summary.choices[0].message.content, title.choices[0].message.content);
