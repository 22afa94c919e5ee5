/** The Vercel AI SDK: text, streams with tools, parallel calls of the responses API. */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const tools = {
  get_weather: tool({
    description: 'The weather',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, degrees: Math.round(Math.random() * 30), at: new Date().toISOString() }),
  }),
};
const stopWhen = stepCountIs(4);
const model = openai.chat('orange-1');
const first = await generateText({ model, tools, prompt: `The weather at ${Date.now()}`, stopWhen });
console.log(first.text, first.steps.length);
for (let i = 0; i < 3; i += 1) {
  const stream = streamText({ model, tools, prompt: `Day ${i}, ${Math.random()}`, stopWhen });
  for await (const text of stream.textStream) process.stdout.write(text);
  const { timestamp, id } = await stream.response;
  console.log(`\n${(await stream.usage).totalTokens} ${timestamp.toISOString()} ${id}`);
}
const cards = ['Anna', 'Ben', 'Cleo'].map((name) =>
  generateText({ model: openai.responses('orange-1'), prompt: `${name} ${Math.random()}` }),
);
for (const { text } of await Promise.all(cards)) console.log(text);
