/**
 * A scripted model provider for the example: it speaks the wire form of chat completions, with texts of its own, so the example needs
 * no key and no network. Each seventh request is refused, so that the dashboard has an error rate to show.
 */
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const port = Number(process.env.PORT ?? 8080);
let requests = 0;

const usageOf = (messages, text) => {
  const prompt = Math.ceil(JSON.stringify(messages).length / 4);
  const completion = Math.ceil(text.length / 4);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
};

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** The call of a tool where nothing has been looked up yet, otherwise a sentence about what was found. */
function answerTo(messages) {
  const found = messages.findLast((message) => message.role === 'tool');
  if (found !== undefined) {
    const { order, state, carrier, days } = JSON.parse(found.content);
    return { content: `Order ${order} is ${state}: ${carrier} should bring it in ${days} days.` };
  }
  const order = /A-\d+/.exec(messages.at(-1)?.content ?? '')?.[0] ?? 'A-1';
  const call = {
    id: `call_${requests}`,
    type: 'function',
    function: { name: 'find_order', arguments: JSON.stringify({ order }) },
  };
  return { content: null, tool_calls: [call] };
}

async function stream(response, base, messages, text) {
  const event = (delta, rest = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }], ...rest })}\n\n`,
    );
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  event({ role: 'assistant', content: '' });
  for (const word of text.split(/(?<= )/)) {
    await wait(20);
    event({ content: word });
  }
  event({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  event({}, { choices: [], usage: usageOf(messages, text) });
  response.end('data: [DONE]\n\n');
}

async function complete(request, response) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  const { model, messages, stream: streamed } = JSON.parse(text);
  requests += 1;
  if (requests % 7 === 0) {
    json(response, 400, {
      error: { message: 'No answers during stocktaking', type: 'invalid_request_error', code: null },
    });
    return;
  }
  const base = { id: `chatcmpl-${requests}`, created: Math.floor(Date.now() / 1000), model };
  const message = { role: 'assistant', ...answerTo(messages) };
  await wait(50 + (requests % 5) * 40);
  if (streamed) {
    await stream(response, base, messages, message.content ?? '');
    return;
  }
  const finish = message.tool_calls === undefined ? 'stop' : 'tool_calls';
  json(response, 200, {
    ...base,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: usageOf(messages, message.content ?? JSON.stringify(message.tool_calls)),
  });
}

const server = createServer((request, response) => {
  if (request.method === 'GET' && request.url === '/healthz') {
    response.end('ok');
    return;
  }
  if (request.method !== 'POST' || !request.url?.endsWith('/chat/completions')) {
    json(response, 404, { error: { message: 'There is only POST /v1/chat/completions', type: 'not_found' } });
    return;
  }
  complete(request, response).catch((error) => {
    if (response.headersSent) response.destroy();
    else json(response, 400, { error: { message: error.message, type: 'invalid_request' } });
  });
});
server.listen(port, process.env.HOST ?? '0.0.0.0', () => console.log(`listening on ${server.address().port}`));
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
