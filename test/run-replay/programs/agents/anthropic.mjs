/** A gardener with `@anthropic-ai/sdk`: streamed turns with tools side by side, the SDK's own runner, plain questions in parallel. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';

const client = new Anthropic();
const model = 'orange-1';
const plant = { type: 'object', properties: { plant: { type: 'string' } }, required: ['plant'] };
const tools = [
  { name: 'soil', description: 'The soil that a plant likes', input_schema: plant },
  { name: 'water', description: 'How much water it needs', input_schema: plant },
  { name: 'prune', description: 'When to prune it', input_schema: plant },
];
const run = {
  soil: async ({ plant }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 9));
    return { plant, ph: (4 + Math.random() * 4).toFixed(1), sample: randomUUID() };
  },
  water: ({ plant }) => ({
    plant,
    litres: Math.ceil(Math.random() * 9),
    next: new Date(Date.now() + 864e5).toISOString(),
  }),
  prune: ({ plant }) => {
    throw new Error(`never prune ${plant}`);
  },
};

const messages = [];
async function ask(question) {
  console.log(`> ${question}`);
  messages.push({ role: 'user', content: question });
  for (;;) {
    const stream = client.messages.stream({
      model,
      max_tokens: 500,
      system: `You are gardener ${process.pid}; today is ${new Date().toDateString()}.`,
      messages,
      tools,
    });
    stream.on('text', (text) => process.stdout.write(text));
    const message = await stream.finalMessage();
    messages.push({ role: 'assistant', content: message.content });
    console.log(`\n[${message.id}, ${message.stop_reason}, ${message.usage.output_tokens}, ${performance.now()}]`);
    if (message.stop_reason !== 'tool_use') return message.content[0].text;
    const uses = message.content.filter(({ type }) => type === 'tool_use');
    const results = uses.map(async ({ id, name, input }) => {
      try {
        const content = JSON.stringify(await run[name](input));
        console.log(`  ${name} ${content}`);
        return { type: 'tool_result', tool_use_id: id, content };
      } catch (error) {
        console.error(error.message);
        return { type: 'tool_result', tool_use_id: id, content: error.message, is_error: true };
      }
    });
    messages.push({ role: 'user', content: await Promise.all(results) });
  }
}

const said = [await ask('I have a Quince, a Fig and a Medlar.'), await ask('And what about the Vine?')];

const runner = client.beta.messages.toolRunner({
  model,
  max_tokens: 500,
  messages: [{ role: 'user', content: `Is the Hedge well, at ${Date.now()}?` }],
  stream: true,
  tools: [
    betaZodTool({
      name: 'look',
      description: 'Looks at it',
      inputSchema: z.object({ plant: z.string() }),
      run: ({ plant }) => `${plant} has ${Math.floor(Math.random() * 100)} leaves`,
    }),
  ],
});
for await (const stream of runner) {
  for await (const event of stream) if (event.type !== 'content_block_delta') console.log('event', event.type);
}
said.push((await runner).content[0].text);

const labels = await Promise.all(
  ['rose', 'tulip', 'orange'].map(async (name) => {
    const { content } = await client.messages.create({
      model,
      max_tokens: 50,
      messages: [{ role: 'user', content: `A label for ${name}, ${Math.random()}` }],
    });
    console.log('label', name);
    return content[0].text;
  }),
);
writeFileSync('garden.json', JSON.stringify({ said, labels, messages, at: new Date() }, null, 2));
process.exitCode = 4;
