/** A chat with a person: one question at a time, answers that are streamed, a clock that goes on. */
import process, { stdin } from 'node:process';
import { createInterface } from 'node:readline/promises';
import OpenAI from 'openai';

const client = new OpenAI();
const messages = [];
const rl = createInterface({ input: stdin, output: process.stdout });
const ticks = [];
const clock = setInterval(() => ticks.push(messages.length), 20);
console.log('terminal', stdin.isTTY, process.stdin === stdin);
for (let turn = 0; turn < 6; turn += 1) {
  const said = await rl.question(`${turn}> `);
  messages.push({ role: 'user', content: `${said} at ${Date.now()}` });
  const stream = await client.chat.completions.create({ model: 'orange-1', messages, stream: true });
  let text = '';
  for await (const chunk of stream) {
    const piece = chunk.choices[0]?.delta?.content ?? '';
    process.stdout.write(piece);
    text += piece;
  }
  messages.push({ role: 'assistant', content: text });
  console.log(` (${ticks.length} ticks)`);
}
clearInterval(clock);
rl.close();
console.error('ticks', ticks.join(' '));
process.exitCode = 5;
