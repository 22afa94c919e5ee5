/**
 * Makes calls side by side, plain and streamed, over `fetch` and `http`, and writes down which it had seen end more than one turn of
 * the event loop before. It knows nothing of Orangebox. Arguments as JSON: `{url, name, log, calls, exit}`;
 * `exit` is `{code, afterMs, atCall}`; without `calls` it goes on until it is killed or its time is over, and says by a byte on descriptor 3 that it begins.
 */
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import http from 'node:http';

const { url, name, log, calls, exit } = JSON.parse(process.argv[2]);
const ended = log === undefined ? undefined : openSync(log, 'a');
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const method = 'POST';
const path = '/v1/chat/completions';
const LANES = 6;
/** Never reached by a program that is to be killed. */
const MANY = 5000;

function viaHttp(headers, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method, headers, agent }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts)));
      response.on('error', reject);
    });
    request.on('error', reject).end(body);
  });
}

async function viaFetch(headers, body) {
  const response = await fetch(url + path, { method, headers, body });
  const parts = [];
  for await (const part of response.body) parts.push(part);
  return Buffer.concat(parts);
}

async function call(number) {
  const id = `${name}-${number}`;
  const headers = { 'content-type': 'application/json', 'x-call': id };
  const messages = [{ role: 'user', content: `${id} ${'pip '.repeat(1 + ((number * 37) % 900))}` }];
  const body = JSON.stringify({ model: 'm', stream: number % 2 === 1, messages });
  const answer = await (number % 4 < 2 ? viaFetch : viaHttp)(headers, body);
  if (ended !== undefined) {
    setImmediate(() => setImmediate(() => writeSync(ended, `${id}\n`)));
  }
  return createHash('sha256').update(answer).digest('hex').slice(0, 16);
}

if (calls === undefined) writeSync(3, '.');
const exitSoon = () => setTimeout(() => process.exit(exit.code), exit.afterMs);
if (exit?.atCall === 0) exitSoon();
let next = 0;
const answers = [];
await Promise.all(
  Array.from({ length: LANES }, async () => {
    while (next < (calls ?? MANY)) {
      const number = next++;
      if (number + 1 === exit?.atCall) exitSoon();
      answers[number] = await call(number);
    }
  }),
);
agent.destroy();
process.stdout.write(`${answers.join('\n')}\n`);
