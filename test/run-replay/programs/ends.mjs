/** Ends while an answer is under way: by `process.exit`, an exception, a rejection. */
import OpenAI from 'openai';

const client = new OpenAI();
const params = (content) => ({ model: 'orange-1', messages: [{ role: 'user', content }] });
process.on('exit', (code) => console.log('exit', code, Date.now()));
const { choices } = await client.chat.completions.create(params(`first ${Math.random()}`));
console.log(choices[0].message.content);
const stream = await client.chat.completions.create({ ...params('second'), stream: true });
let seen = 0;
for await (const chunk of stream) {
  seen += 1;
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
  if (seen < 4) continue;
  if (process.argv[2] === 'exit') process.exit(7);
  if (process.argv[2] === 'throw') queueMicrotask(() => null.broken);
  if (process.argv[2] === 'reject') void Promise.reject(new Error(`number ${Math.random()}`));
}
