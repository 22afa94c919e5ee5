/** Wire forms that the servers of cases share. */

export const messages = [{ role: 'user', content: 'hello' }];

/** A path that is recognised as an LLM call. */
export const CHAT = '/v1/chat/completions';

/** One event of a streamed chat completion. */
export const event = (choice) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, finish_reason: null, ...choice }],
  })}\n\n`;

/** One event with a piece of text. */
export const frame = (content) => event({ delta: { content } });

export const DONE = 'data: [DONE]\n\n';

export const sse = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' });

/** A plain chat completion. */
export const completion = (content) =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', logprobs: null }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });

/** Answers with JSON text. */
export const json = (response, text, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);

/** What the program asks with, where the form does not matter. */
export const chatBody = JSON.stringify({ model: 'gpt-test', messages });
export const chatHeaders = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };

/** Two frames, then nothing more: how it ends is the program's affair. */
export function twoFrames(_request, response) {
  sse(response);
  response.write(frame('one'));
  response.write(frame('two'));
}
