/** A cook with LangGraph: a loop of model and tools with a memory, streamed, then dishes prepared side by side. */
const { randomUUID } = require('node:crypto');
const { writeFileSync } = require('node:fs');
const { HumanMessage, SystemMessage } = require('@langchain/core/messages');
const { tool } = require('@langchain/core/tools');
const { Annotation, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph } = require('@langchain/langgraph');
const { ToolNode, toolsCondition } = require('@langchain/langgraph/prebuilt');
const { ChatOpenAI } = require('@langchain/openai');
const { z } = require('zod');

const model = new ChatOpenAI({
  model: 'orange-1',
  temperature: 0.3,
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
});
const dish = z.object({ dish: z.string() });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tools = [
  tool(
    async ({ dish }) => {
      await pause(Math.random() * 10);
      return JSON.stringify({ dish, minutes: Math.round(10 + Math.random() * 90), from: new Date().toISOString() });
    },
    { name: 'cooking_time', description: 'How long a dish takes', schema: dish },
  ),
  tool(async ({ dish }) => JSON.stringify({ dish, recipe: randomUUID() }), {
    name: 'find_recipe',
    description: 'A recipe',
    schema: dish,
  }),
  tool(
    ({ dish }) => {
      if (dish === 'Fugu') throw new Error('no Fugu in this kitchen');
      return `${dish} needs ${Math.ceil(Math.random() * 12)} oranges`;
    },
    { name: 'count_oranges', description: 'What must be bought', schema: dish },
  ),
];

const bound = model.bindTools(tools);
const agent = new StateGraph(MessagesAnnotation)
  .addNode('cook', async ({ messages }) => {
    const system = new SystemMessage(`Kitchen ${process.pid}, ${new Date().toDateString()}`);
    return { messages: [await bound.invoke([system, ...messages])] };
  })
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'cook')
  .addConditionalEdges('cook', toolsCondition)
  .addEdge('tools', 'cook')
  .compile({ checkpointer: new MemorySaver() });

async function ask(question, thread_id) {
  console.log(`> ${question}`);
  const input = { messages: [new HumanMessage(question)] };
  const config = { configurable: { thread_id }, streamMode: ['messages', 'updates'] };
  for await (const [mode, value] of await agent.stream(input, config)) {
    if (mode === 'messages') {
      const [message, { langgraph_node: node }] = value;
      if (node === 'cook') process.stdout.write(String(message.content));
    } else {
      for (const [node, { messages }] of Object.entries(value)) {
        for (const message of messages)
          console.log(`\n[${node}] ${message.name ?? message.getType()} ${message.content}`);
      }
    }
  }
}

const Menu = Annotation.Root({
  dishes: Annotation(),
  dish: Annotation(),
  cards: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const menu = new StateGraph(Menu)
  .addNode('plan', () => ({}))
  .addNode('write', async ({ dish }) => {
    const { content } = await model.invoke(`A card for ${dish}, no. ${Math.floor(Math.random() * 1e4)}`);
    console.log('card for', dish);
    return { cards: [`${dish}: ${content}`] };
  })
  .addEdge(START, 'plan')
  .addConditionalEdges('plan', ({ dishes }) => dishes.map((dish) => new Send('write', { dish })), ['write'])
  .addEdge('write', END)
  .compile();

async function main() {
  const thread = randomUUID();
  await ask('What shall I cook: a Bouillabaisse, a Fugu, or a Goulash?', thread);
  await ask('And for dessert, a Clafoutis?', thread);
  const { cards } = await menu.invoke({ dishes: ['soup', 'fish', 'cheese', 'fruit'] });
  const structured = await model
    .withStructuredOutput(z.object({ title: z.string(), stars: z.number() }))
    .invoke('Rate it');
  const { values } = await agent.getState({ configurable: { thread_id: thread } });
  const ids = values.messages.map(({ id }) => id);
  writeFileSync('menu.json', JSON.stringify({ thread, cards, structured, ids, at: Date.now() }, null, 2));
  console.log(structured, ids.length, performance.now());
}

main();
