/** A researcher with the responses API: streamed turns that the service remembers, tools side by side, then notes in parallel. */
const { randomUUID, randomInt, getRandomValues } = require('node:crypto');
const { writeFileSync, appendFileSync } = require('node:fs');
const OpenAI = require('openai');
const { zodTextFormat } = require('openai/helpers/zod');
const { z } = require('zod');

const client = new OpenAI({ timeout: 30_000 });
const Query = {
  type: 'object',
  properties: { topic: { type: 'string' } },
  required: ['topic'],
  additionalProperties: false,
};
const tools = ['search_library', 'count_pages', 'rate_source'].map((name) => ({
  type: 'function',
  name,
  description: `${name.replace('_', ' ')} for a topic`,
  parameters: Query,
  strict: true,
}));

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const functions = {
  search_library: async ({ topic }) => {
    await wait(randomInt(1, 9));
    return { topic, shelf: randomInt(1000), ticket: randomUUID() };
  },
  count_pages: ({ topic }) => ({ topic, pages: randomInt(10, 900), at: Date.now() }),
  rate_source: async ({ topic }) => {
    await new Promise(setImmediate);
    return { topic, stars: getRandomValues(new Uint8Array(1))[0] % 5, date: new Date().toISOString() };
  },
};

async function call({ name, call_id, arguments: text }) {
  const output = JSON.stringify(await functions[name](JSON.parse(text)));
  console.log(`  ${name} ${text} -> ${output}`);
  return { type: 'function_call_output', call_id, output };
}

async function research(question, previous) {
  console.log(`# ${question}`);
  let input = [{ role: 'user', content: question }];
  for (let turn = 1; ; turn += 1) {
    const stream = await client.responses.create({
      model: 'orange-1',
      instructions: `You are librarian ${process.pid}.`,
      input,
      tools,
      stream: true,
      metadata: { turn: String(turn), asked: new Date().toISOString() },
      ...(previous && { previous_response_id: previous }),
    });
    let response;
    let words = 0;
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') {
        words += 1;
        process.stdout.write(event.delta);
      }
      if (event.type === 'response.completed') response = event.response;
    }
    previous = response.id;
    console.log(
      `${words ? '\n' : ''}(turn ${turn}: ${words} words, ${response.usage.total_tokens} tokens, ${response.id})`,
    );
    const calls = response.output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) return { previous, text: response.output_text ?? '' };
    input = await Promise.all(calls.map(call));
  }
}

async function main() {
  console.time('research');
  const first = await research('What do we know of Saffron, of Amber and of Ochre?');
  await research('Which of them came from Persia?', first.previous);
  console.timeEnd('research');

  const Note = z.object({ title: z.string(), stars: z.number(), good: z.boolean() });
  const notes = await Promise.all(
    ['saffron', 'amber', 'ochre'].map(async (topic) => {
      const { output_parsed: note } = await client.responses.parse({
        model: 'orange-1',
        input: `A note on ${topic}, for reader ${randomUUID()}`,
        text: { format: zodTextFormat(Note, 'note') },
      });
      console.log('noted', topic, note.title);
      return { topic, ...note };
    }),
  );
  const helper = client.responses.stream({ model: 'orange-1', input: `A farewell, please (${Math.random()})` });
  helper.on('response.output_text.delta', ({ delta }) => process.stdout.write(delta));
  const last = await helper.finalResponse();
  writeFileSync('notes.json', JSON.stringify({ notes, last: last.id, uptime: process.uptime() }, null, 2));
  appendFileSync(
    'notes.json',
    `\n// ${new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' }).format()}\n`,
  );
}

main().then(
  () => console.log('\ndone'),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
