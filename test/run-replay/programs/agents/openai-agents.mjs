/** A help desk of several agents with `@openai/agents`: a triage that hands over, tools side by side, a memory, streams. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent, MemorySession, run, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

setTracingDisabled(true);
const log = [];
const note = (line) => {
  log.push(`${new Date().toISOString()} ${line}`);
  console.log(line);
};

const of = (name, description, execute) =>
  tool({ name, description, parameters: z.object({ city: z.string() }), execute });

const getWeather = of('get_weather', 'The weather in a city', async ({ city }) => {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
  return JSON.stringify({ city, degrees: Math.round(Math.random() * 30), station: randomUUID().slice(0, 8) });
});
const findFlight = of('find_flight', 'A flight to a city', async ({ city }) => {
  if (Math.random() < 0.5) await new Promise(setImmediate);
  return { city, gate: `${'ABC'[Math.floor(Math.random() * 3)]}${Math.ceil(Math.random() * 20)}`, at: Date.now() };
});
const refund = of('refund', 'Gives money back', async ({ city }) => {
  throw new Error(`no refunds for ${city}`);
});

const billing = new Agent({
  name: 'Billing',
  model: 'orange-1',
  instructions: () => `You settle bills. It is ${new Date().toISOString()}.`,
  tools: [refund],
});
const travel = new Agent({
  name: 'Travel',
  model: 'orange-1',
  instructions: (context) => `You plan trips for ${context.context.user}, desk ${process.pid}.`,
  tools: [getWeather, findFlight],
});
const triage = Agent.create({
  name: 'Triage',
  model: 'orange-1',
  instructions: 'Hand over to whoever knows.',
  tools: [of('look_up_customer', 'Who it is', ({ city }) => ({ customer: randomUUID(), city }))],
  handoffs: [travel],
});
triage.on('agent_start', (_, agent) => note(`start ${agent.name}`));
travel.on('agent_tool_start', (_, { name }) => note(`tool ${name}`));
travel.on('agent_tool_end', (_, { name }, result) => note(`tool ${name} gave ${result}`));

const session = new MemorySession();
const context = { user: `guest ${Math.floor(Math.random() * 1000)}` };

const first = await run(triage, 'I must go to Lisbon, or to Oslo, or to Quito.', { stream: true, session, context });
first.toTextStream({ compatibleWithNodeStreams: true }).on('data', (text) => process.stdout.write(text));
await first.completed;
note(`\n${first.lastAgent.name} said ${first.finalOutput}`);

const second = await run(travel, 'And what of Porto?', { stream: true, session, context });
for await (const event of second) {
  if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
    process.stdout.write(event.data.delta);
  if (event.type === 'run_item_stream_event') note(`event ${event.name} ${event.item.type}`);
}
await second.completed;

const others = await Promise.all(
  ['Anna', 'Ben', 'Cleo'].map(async (name) => {
    const { finalOutput, rawResponses } = await run(billing, `The bill of ${name}, ${Math.random()}`, { maxTurns: 4 });
    note(`${name}: ${finalOutput}`);
    return { name, finalOutput, ids: rawResponses.map(({ responseId }) => responseId) };
  }),
);
const items = await session.getItems();
writeFileSync('desk.json', JSON.stringify({ log, others, items, took: performance.now() }, null, 2));
