/** An older `openai`, whose requests go through `node:http` with connections that are kept. */
import OpenAI from 'openai';

const client = new OpenAI();
for (let i = 0; i < 4; i += 1) {
  const messages = [{ role: 'user', content: `Question ${i} at ${new Date().toISOString()}` }];
  const stream = await client.chat.completions.create({ model: 'orange-1', stream: true, messages });
  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
  console.log();
}
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = async ({ city }) => ({ city, degrees: Math.random() });
const runner = client.beta.chat.completions.runTools({
  model: 'orange-1',
  messages: [{ role: 'user', content: 'What is the weather?' }],
  tools: [
    {
      type: 'function',
      function: { name: 'get_weather', description: 'it', parse: JSON.parse, parameters, function: weather },
    },
  ],
});
console.log(await runner.finalContent());
