/** A newsroom with the Vercel AI SDK: streamed steps with tools, objects, parallel texts, a stream that is given up. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, Output, smoothStream, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const openai = createOpenAI();
const chat = openai.chat('orange-1');
const responses = openai.responses('orange-1');
const place = z.object({ place: z.string() });
const tools = {
  headlines: tool({
    description: 'What happened at a place',
    inputSchema: place,
    async execute({ place }, { toolCallId, abortSignal }) {
      await new Promise((resolve, reject) => {
        setTimeout(resolve, Math.random() * 10);
        abortSignal?.addEventListener('abort', reject);
      });
      return {
        place,
        issue: Math.ceil(Math.random() * 900),
        call: toolCallId.slice(0, 5),
        at: new Date().toISOString(),
      };
    },
  }),
  archive: tool({
    description: 'What had happened there',
    inputSchema: place,
    async *execute({ place }) {
      yield { place, state: 'looking' };
      await new Promise(setImmediate);
      yield { place, state: 'found', box: randomUUID() };
    },
  }),
  weigh: tool({
    description: 'How much it matters',
    inputSchema: place,
    execute: ({ place }) => {
      if (place === 'Utopia') throw new Error('there is no Utopia');
      return { place, weight: Math.random() };
    },
  }),
};
const page = { date: new Date(), articles: [] };

async function write(model, prompt) {
  const result = streamText({
    model,
    system: `You are editor ${process.pid}.`,
    prompt,
    tools,
    stopWhen: stepCountIs(6),
    experimental_transform: smoothStream({ delayInMs: 2 }),
    onStepFinish: ({ finishReason, usage }) => console.log(`\n[${finishReason}, ${usage.totalTokens} tokens]`),
    onError: ({ error }) => console.error('failed', error),
  });
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') process.stdout.write(part.text);
    if (part.type === 'tool-call') console.log('call', part.toolName, JSON.stringify(part.input));
    if (part.type === 'tool-result') console.log(part.preliminary ? 'soon' : 'result', JSON.stringify(part.output));
    if (part.type === 'tool-error') console.log('error', part.error.message);
  }
  const { id, timestamp } = await result.response;
  page.articles.push({ id, timestamp, text: await result.text, steps: (await result.steps).length });
}

await write(chat, `What is new in Atlantis, in Utopia and in Avalon, on day ${page.date.getTime()}?`);
await write(responses, `And from Erewhon, at ${Date.now()}?`);

const summaries = await Promise.all(
  ['short', 'long', 'rhymed'].map(async (kind) => {
    const { text, usage } = await generateText({
      model: kind === 'long' ? responses : chat,
      prompt: `${kind} ${Math.random()}`,
    });
    console.log(kind, usage.totalTokens);
    return { kind, text };
  }),
);
const { output } = await generateText({
  model: chat,
  prompt: 'A box for the front page',
  output: Output.object({ schema: z.object({ title: z.string(), width: z.number() }) }),
});
console.log(output);

const controller = new AbortController();
const given = streamText({
  model: chat,
  prompt: 'A column without end',
  abortSignal: controller.signal,
  onError: () => {},
});
let pieces = 0;
for await (const part of given.fullStream) {
  if (part.type === 'text-delta' && ++pieces === 5) controller.abort();
  if (part.type === 'abort') console.log('given up after', pieces);
}
writeFileSync(
  'front-page.json',
  JSON.stringify({ ...page, summaries, output, set: performance.timeOrigin > 0, at: new Date() }, null, 2),
);
