/**
 * An agent of one turn, without OpenTelemetry. All turns are given the same task. Arguments: way, base URL of the provider,
 * number of turns at a time. As `server` each inbound request is a turn, until `/stop` is asked for.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import OpenAI from 'openai';
import { agent, session, step, tool } from 'orangebox';

const [way, baseURL, count] = process.argv.slice(2);
const client = new OpenAI({ apiKey: 'sk-test', baseURL });
const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } }];
const lookUp = async ({ page }) => {
  await new Promise((resolve) => setImmediate(resolve));
  return `text of page ${page}`;
};
const wrapped = tool('look_up', lookUp);

async function turn({ run = lookUp, within = (_name, work) => work() } = {}) {
  const messages = [{ role: 'user', content: 'read all pages' }];
  for (let n = 1; ; n++) {
    const { message } = await within(`step ${n}`, async () => {
      const answer = await client.chat.completions.create({ model: 'gpt-test', messages, tools });
      return answer.choices[0];
    });
    messages.push(message);
    if (!message.tool_calls) return message.content;
    const results = await Promise.all(message.tool_calls.map((call) => run(JSON.parse(call.function.arguments))));
    results.forEach((content, i) => {
      messages.push({ role: 'tool', tool_call_id: message.tool_calls[i].id, content });
    });
  }
}

const ways = {
  plain: () => turn(),
  wrapped: () => turn({ run: wrapped }),
  scoped: (n) =>
    session({ id: `session ${n}`, metadata: { n } }, () =>
      agent(`agent ${n}`, () => turn({ run: wrapped, within: step })),
    ),
  nested: (n) =>
    agent(`outer ${n}`, () =>
      Promise.all(['left', 'right'].map((side) => agent(`${side} ${n}`, () => turn({ within: step })))),
    ),
};

async function serve() {
  const server = createServer(async (request, response) => {
    if (request.url === '/stop') {
      response.end();
      server.close();
      server.closeIdleConnections();
      return;
    }
    response.end(await turn(request.url === '/wrapped' ? { run: wrapped } : {}));
  });
  server.keepAliveTimeout = 1;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.stdout.write(`${server.address().port}\n`);
}

if (way === 'server') await serve();
else {
  const said = await Promise.all(Array.from({ length: Number(count) }, (_, n) => ways[way](n)));
  process.stdout.write(JSON.stringify(said.flat().sort()));
}
