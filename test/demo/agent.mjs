/**
 * A small travel agent, as anybody would write it with the `openai` package: it knows nothing of Orangebox. It lets the model
 * call tools until it has what it needs, runs them in parallel, and streams the final answer.
 */
import OpenAI from 'openai';

const client = new OpenAI();
const model = 'orange-1';

const forecasts = {
  Lisbon: { city: 'Lisbon', sky: 'clear', degrees: 21 },
  Oslo: { city: 'Oslo', sky: 'snow', degrees: -3 },
};

const tools = {
  get_weather: async ({ city }) => forecasts[city] ?? { city, sky: 'unknown', degrees: 0 },
  find_train: async ({ to, seats }) => ({ to, seats, departs: to === 'Lisbon' ? '07:39' : '23:06', platform: 4 }),
};

const definitions = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather in a city tomorrow',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
  {
    type: 'function',
    function: {
      name: 'find_train',
      description: 'The next train to a city',
      parameters: {
        type: 'object',
        properties: { to: { type: 'string' }, seats: { type: 'integer' } },
        required: ['to', 'seats'],
      },
    },
  },
];

const messages = [
  { role: 'system', content: 'You plan trips. Use the tools.' },
  { role: 'user', content: 'Should I go to Lisbon or to Oslo tomorrow, and when does the train leave?' },
];
console.log(`user: ${messages[1].content}`);

async function runTool(call) {
  const args = JSON.parse(call.function.arguments);
  const result = JSON.stringify(await tools[call.function.name](args));
  console.log(`tool: ${call.function.name}(${call.function.arguments}) = ${result}`);
  return { role: 'tool', tool_call_id: call.id, content: result };
}

for (;;) {
  const completion = await client.chat.completions.create({ model, messages, tools: definitions });
  const { message } = completion.choices[0];
  messages.push(message);
  if (!message.tool_calls) {
    console.log(`model: ${message.content}`);
    break;
  }
  messages.push(...(await Promise.all(message.tool_calls.map(runTool))));
}

messages.push({ role: 'user', content: 'Thanks! Say it once more as a postcard to Anna.' });
console.log(`user: ${messages.at(-1).content}`);
const stream = await client.chat.completions.create({
  model,
  messages,
  stream: true,
  stream_options: { include_usage: true },
});
process.stdout.write('model: ');
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
process.stdout.write('\n');
