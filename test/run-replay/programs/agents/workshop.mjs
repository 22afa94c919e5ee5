/** An agent with help: a worker thread that asks for itself, a child process that counts, commands of a shell. */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import OpenAI from 'openai';

const client = new OpenAI();
const parameters = { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] };
const define = (name, description) => ({ type: 'function', function: { name, description, parameters } });

async function converse(who, question, tools, run) {
  const messages = [
    { role: 'system', content: `${who} ${randomUUID()} on ${hostname()} at ${new Date().toISOString()}` },
    { role: 'user', content: question },
  ];
  for (;;) {
    const runner = client.chat.completions.stream({ model: 'orange-1', messages, tools });
    const { choices } = await runner.finalChatCompletion();
    const { message } = choices[0];
    messages.push({
      role: 'assistant',
      content: message.content,
      ...(message.tool_calls?.length && { tool_calls: message.tool_calls }),
    });
    if (!message.tool_calls?.length) return message.content;
    messages.push(
      ...(await Promise.all(
        message.tool_calls.map(async ({ id, function: { name, arguments: text } }) => {
          const content = JSON.stringify(await run[name](JSON.parse(text)));
          if (isMainThread) console.log(`${who}: ${name} ${text} ${content}`);
          return { role: 'tool', tool_call_id: id, content };
        }),
      )),
    );
  }
}

const inWorker = {
  measure: async ({ part }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 6));
    return { part, millimetres: Math.round(Math.random() * 100), at: Date.now() };
  },
  mark: ({ part }) => ({ part, serial: randomUUID() }),
};

/** Sorts what it is given, as `sort` does. */
function sorted(lines) {
  const child = spawn('sort', ['-r'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    text += piece;
  });
  child.stdin.end(lines.join('\n'));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, lines: text.trim().split('\n') })));
}

const count = `let n = 0; process.stdin.on('data', (b) => (n += b.length)).on('end', () => console.log(n, Math.random()))`;
const inMain = {
  count: ({ part }) =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, ['-e', count]);
      let said = '';
      child.stdout.on('data', (bytes) => {
        said += bytes;
      });
      child.on('close', (code) => resolve({ part, said, code }));
      child.stdin.end(part.repeat(100));
    }),
  list: async ({ part }) => {
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', 'echo "$1 $$"; date +%N >&2', 'sh', part]);
    return { part, stdout, stderr };
  },
  borrow: ({ part }) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: part });
    return new Promise((resolve, reject) => {
      worker.once('message', (said) => {
        console.log('heard of', part);
        worker.postMessage({ thanks: Math.random() });
        worker.once('exit', (code) => resolve({ ...said, code }));
      });
      worker.once('error', reject);
    });
  },
};

if (isMainThread) {
  const tools = Object.keys(inMain).map((name) => define(name, `Please ${name} it`));
  const first = await converse('master', 'We need a Gear, a Spring and a Lever.', tools, inMain);
  console.log(first, await sorted(first.split('\n')));
  const second = await converse('apprentice', 'And a Cog!', tools.slice(0, 2), inMain);
  console.log(second);
  writeFileSync('workshop.txt', `${first}\n${second}\n${process.ppid} ${Date.now()}\n`);
} else {
  const tools = Object.keys(inWorker).map((name) => define(name, `Please ${name} it`));
  const said = await converse(`worker for ${workerData}`, `It is about a ${workerData}, and a Nut.`, tools, inWorker);
  const pressed = setInterval(() => inWorker.mark({ part: 'Nut' }), 1);
  parentPort.once('message', ({ thanks }) => {
    clearInterval(pressed);
    process.exit(thanks < 0.5 ? 5 : 6);
  });
  parentPort.postMessage({ said, random: Math.random() });
}
