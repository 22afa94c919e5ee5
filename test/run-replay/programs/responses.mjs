/** The responses API turn by turn, then `runTools`. */
import OpenAI from 'openai';

const client = new OpenAI();
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function', name: 'get_weather', description: 'The weather', parameters, strict: false }];
let previous;
let input = [{ role: 'user', content: `Lisbon or Oslo, ${new Date().toISOString()}?` }];
for (let turn = 0; turn < 6; turn += 1) {
  const stream = await client.responses.create({
    model: 'orange-1',
    input,
    tools,
    stream: true,
    ...(previous && { previous_response_id: previous }),
  });
  let done;
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
    if (event.type === 'response.completed') done = event.response;
  }
  previous = done.id;
  const calls = done.output.filter(({ type }) => type === 'function_call');
  console.log(`\nturn ${turn}: ${calls.length} tools, ${previous}`);
  input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: `${Math.random()} degrees` }));
  if (calls.length === 0) input = [{ role: 'user', content: `And then? ${Math.random()}` }];
}
const weather = async ({ city }) => ({ city, degrees: Math.random() });
const runner = client.chat.completions.runTools({
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
