/** A small app: a plain call, a streamed one, a failing one. It prints what it got. */
import OpenAI from 'openai';

const client = new OpenAI({ maxRetries: 0 });
const request = { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] };

const answer = await client.chat.completions.create(request);
console.log('plain', answer.choices[0].message.content);
const words = [];
for await (const chunk of await client.chat.completions.create({ ...request, stream: true }))
  words.push(chunk.choices[0]?.delta.content ?? '');
console.log('streamed', words);
await client.chat.completions.create({ ...request, model: 'nonexistent' }).catch((error) => {
  console.log(error.name, error.constructor.name, error.status, error.code, error.message);
});
