/**
 * A shop assistant, as anybody would write it: it asks a model, runs the tools that the model wants and streams the last answer.
 * It knows nothing of Orangebox; `--require orangebox/register` is all that its service adds. `AGENT_ROUNDS` ends it after so many
 * conversations, without it it goes on until it is stopped.
 */
import { setTimeout as wait } from 'node:timers/promises';

const baseUrl = process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:8080/v1';
const pauseMs = Number(process.env.AGENT_PAUSE_MS ?? 15_000);
const rounds = Number(process.env.AGENT_ROUNDS ?? Number.POSITIVE_INFINITY);
const models = ['orange-1', 'orange-1-mini'];

const tools = {
  find_order: async ({ order }) => ({ order, state: 'shipped', carrier: 'Pelican Post', days: 2 }),
};

const definitions = [
  {
    type: 'function',
    function: {
      name: 'find_order',
      description: 'The state of an order',
      parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    },
  },
];

async function post(body) {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
  return response;
}

/** The text of a streamed answer. */
async function readStream(response) {
  let text = '';
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      text += JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? '';
    }
  }
  return text;
}

async function converse(round) {
  const model = models[round % models.length];
  const messages = [
    { role: 'system', content: 'You help customers of a small shop. Look orders up before you answer.' },
    { role: 'user', content: `Where is my order A-${1000 + round}?` },
  ];
  const first = await (await post({ model, messages, tools: definitions })).json();
  const { message } = first.choices[0];
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    const result = await tools[call.function.name](JSON.parse(call.function.arguments));
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
  }
  const stream = await post({
    model,
    messages,
    tools: definitions,
    stream: true,
    stream_options: { include_usage: true },
  });
  return readStream(stream);
}

let stopping = false;
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    stopping = true;
    stop.abort();
  });
}

for (let round = 1; round <= rounds && !stopping; round += 1) {
  try {
    console.log(`${round}: ${await converse(round)}`);
  } catch (error) {
    console.error(`${round}: ${error.cause?.message ?? error.message}`);
  }
  if (round < rounds) await wait(pauseMs, undefined, { signal: stop.signal }).catch(() => undefined);
}
