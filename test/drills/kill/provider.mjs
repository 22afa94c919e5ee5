/**
 * A provider in a process of its own. It writes down, before its next step, each request that it has seen complete and all bytes that
 * it sends. Argument: the file for that. Prints its URL, then a line for each request: the name of the program and how many it has sent;
 * ends with its standard input.
 */
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const log = openSync(process.argv[2], 'a');
const note = (entry) => writeSync(log, `${JSON.stringify(entry)}\n`);

/** The same for the same call, so that programs can be compared. */
function sizes(id) {
  let state = 0;
  for (const char of id) state = (Math.imul(state, 31) + char.charCodeAt(0)) >>> 0;
  return { words: 20 + (state % 3000), chunks: 3 + (state % 40) };
}

const counts = new Map();

const server = createServer((request, response) => {
  const id = request.headers['x-call'];
  const name = id.split('-')[0];
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  process.stdout.write(`${name} ${count}\n`);
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    note({ id, seen: true });
    const { words, chunks } = sizes(id);
    const send = (text, isLast) => {
      note({ id, sent: text, isLast });
      if (isLast) response.end(text);
      else response.write(text);
    };
    if (!JSON.parse(body).stream) {
      response.setHeader('content-type', 'application/json');
      const message = { role: 'assistant', content: 'orange '.repeat(words) };
      const text = JSON.stringify({ object: 'chat.completion', model: 'm', choices: [{ index: 0, message }] });
      // In two halves, so that the program can die between them.
      send(text.slice(0, text.length / 2), false);
      setImmediate(() => send(text.slice(text.length / 2), true));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    let at = 0;
    const next = () => {
      if (response.destroyed) return;
      const delta = { content: `${at} ${'peel '.repeat(1 + (at % 9))}` };
      const chunk = { object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta }] };
      const isLast = ++at > chunks;
      send(isLast ? 'data: [DONE]\n\n' : `data: ${JSON.stringify(chunk)}\n\n`, isLast);
      if (!isLast) setTimeout(next, at % 3);
    };
    next();
  });
});
// A busy machine takes its time between two requests of a connection.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
