/**
 * A provider that sends an agent through a turn of seven calls: six answers ask for tools, one of them for two at once, and
 * the seventh is text. Each conversation has a number; it stands in the ids of its tool calls and in its last text.
 */
import { createServer } from 'node:http';

/** Ids as long as a real provider's: short ones such as `call_0` tell no conversations apart. */
const idOf = (number, name) => `call_${String(number).padStart(16, '0')}_${name}`;

export const CALLS = 7;
export const TOOLS = 7;

export async function startTurnProvider() {
  let conversations = 0;
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { messages } = JSON.parse(Buffer.concat(parts).toString());
    const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
    const last = messages.at(-1);
    const number = last.role === 'tool' ? Number(/^call_(\d+)_/.exec(last.tool_call_id)[1]) : conversations++;
    const body = JSON.stringify({
      id: `chatcmpl-${number}-${turn}`,
      object: 'chat.completion',
      created: 1,
      model: 'gpt-test',
      choices: [{ index: 0, finish_reason: turn < CALLS ? 'tool_calls' : 'stop', message: messageOf(number, turn) }],
      usage: { prompt_tokens: turn, completion_tokens: 1, total_tokens: turn + 1 },
    });
    // Answers in an order of their own, so that turns run across each other.
    setTimeout(
      () => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(body);
      },
      (number * 7 + turn * 3) % 11,
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function messageOf(number, turn) {
  if (turn === CALLS) return { role: 'assistant', content: `conversation ${number} is done` };
  const ask = (which) => ({
    id: idOf(number, `${turn}${which}`),
    type: 'function',
    function: { name: 'look_up', arguments: JSON.stringify({ page: turn }) },
  });
  return { role: 'assistant', content: null, tool_calls: turn === 3 ? [ask('a'), ask('b')] : [ask('a')] };
}
