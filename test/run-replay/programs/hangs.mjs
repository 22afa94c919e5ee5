// Asks, writes a file, prints, and then hangs in a tool that never comes back; ended by a signal from outside.
import { writeFileSync } from 'node:fs';
import OpenAI from 'openai';

const client = new OpenAI();
for (let turn = 1; turn <= 3; turn++) {
  const answer = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content: `turn ${turn} ${Math.random()}` }],
  });
  writeFileSync('turns.txt', `${turn} ${answer.choices[0].message.content.length > 0}\n`);
  console.log('turn', turn, Date.now() > 0);
}
console.error('hangs', Math.random());
let beats = 0;
setInterval(() => console.log('beat', ++beats), 20);
await new Promise(() => {});
