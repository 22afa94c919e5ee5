/**
 * An agent that says its own ids, paths, times and durations to the model again and again: a session in the system prompt and in the
 * description of a tool, a directory for its work, call ids, dates.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const client = new OpenAI();
const session = `sess_${randomBytes(12).toString('hex')}`;
const directory = join(tmpdir(), `agent-${randomUUID()}`);
const startMs = performance.now();
const system = {
  role: 'system',
  content: `Session ${session}, begun ${new Date().toISOString()}. Work in ${directory}.`,
};
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const description = `The weather, for session ${session} only`;
const tools = [{ type: 'function', function: { name: 'get_weather', description, parameters } }];
const messages = [system, { role: 'user', content: 'Should I go to Lisbon or to Oslo tomorrow?' }];

for (let turn = 0; turn < 6; turn++) {
  const { choices } = await client.chat.completions.create({ model: 'orange-1', messages, tools });
  const [{ message }] = choices;
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    await sleep(Math.random() * 5);
    const content = JSON.stringify({
      ...JSON.parse(call.function.arguments),
      file: join(directory, `${call.id}.json`),
      request: randomUUID(),
      at: new Date().toISOString(),
    });
    messages.push({ role: 'tool', tool_call_id: call.id, content });
  }
  if (message.tool_calls === undefined) {
    const tookMs = (performance.now() - startMs).toFixed(3);
    messages.push({
      role: 'user',
      content: `That took ${tookMs} ms. And on ${new Date().toDateString()}, in session ${session}?`,
    });
  }
}
console.log(session, messages.length);
