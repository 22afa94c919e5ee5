/** A program that counts what it holds open, at every step. */
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../../../../programs/transparency/package.json', import.meta.url));
const { default: OpenAI } = await import(pathToFileURL(require.resolve('openai')).href);
void [process.stdout.writable, process.stderr.writable];

const turn = () => new Promise((resolve) => setImmediate(resolve));
const { observations } = JSON.parse(process.env.TRANSPARENCY);
const observe = (label, value) => appendFileSync(observations, `${JSON.stringify([label, value])}\n`);

/** Handles, and requests in progress, each as Node.js names them. */
const list = (when) => {
  const names = process.getActiveResourcesInfo().filter((name) => name !== 'Immediate');
  const isRequest = (name) => /Req|Wrap$/.test(name) && !/^(Pipe|TTY|TCPSocket|TCPServer)Wrap$/.test(name);
  const objects = process._getActiveHandles().map((handle) => handle.constructor.name);
  observe(`handles ${when}`, [names.filter((name) => !isRequest(name)).sort(), objects.sort()]);
  observe(`requests ${when}`, [names.filter(isRequest), process._getActiveRequests().length]);
};
const count = async (when) => {
  for (let i = 0; i < 3; i += 1) await turn();
  list(when);
};

await count('at the start');
const client = new OpenAI();
const request = { model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] };
await client.chat.completions.create(request);
await count('after a call');
const stream = await client.chat.completions.create({ ...request, stream: true });
for await (const chunk of stream) if (chunk.choices[0]?.finish_reason) break;
await count('after a stream');
await Promise.all(Array.from({ length: 5 }, () => client.chat.completions.create(request)));
await count('after five at once');
process.on('exit', () => list('after the exit'));
