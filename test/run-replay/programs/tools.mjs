// An agent whose tools talk to a database over a socket, to a model, and to the clock; the database is at the port given.
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import { tool } from 'orangebox';

const port = Number(process.argv[2]);
const [question = 'SELECT 1'] = process.argv.slice(3);
const client = new OpenAI();

/** One connection for each query, as clients without a pool make it. */
const ask = (query) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(`${query}\n`));
    let text = '';
    socket.on('data', (bytes) => (text += bytes));
    socket.on('end', () => resolve(text.trim()));
    socket.on('error', reject);
  });

class QueryError extends Error {
  name = 'QueryError';
  constructor(query, code) {
    super(`cannot run ${query}`);
    this.code = code;
    Object.defineProperty(this, 'cause', { value: { query }, enumerable: false });
  }
}

/** A connection that is there before any tool runs. */
const isPooled = process.argv.includes('pooled');
if (isPooled) {
  const pool = net.connect(port, '127.0.0.1');
  pool.on('error', (error) => console.error('pool', error.code));
  await new Promise((resolve) => pool.once('connect', resolve));
  await tool(
    'pooled',
    async () =>
      new Promise((resolve) =>
        pool
          .once('end', () => resolve(1))
          .once('data', () => {})
          .write('quick\n'),
      ),
  )();
}
const query = tool('query', async (text) => {
  // Within a tool that is given nothing of this happens again.
  await pause(Math.random() * 3);
  const answer = await ask(text);
  if (answer.startsWith('ERROR')) throw new QueryError(text, answer.slice(6));
  return { rows: answer.split(','), at: Date.now(), by: null };
});
const summary = tool('summary', async (rows) => {
  const answer = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content: `Sum up ${JSON.stringify(rows)}` }],
  });
  return answer.choices[0].message.content.length > 0 ? rows.length : 0;
});
const report = tool('report', async (text) => {
  const found = await ask(text);
  const told = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content: `Report on ${found}` }],
  });
  return `${found}: ${told.usage.total_tokens > 0}`;
});
const roll = tool('roll', (sides) => Math.ceil(Math.random() * sides));

const first = await query(question);
console.log(first.rows.join('|'), first.at > 0, Object.keys(first).join());
const order = [];
const all = await Promise.all(
  ['slow a', 'quick b', 'slow c'].map(async (text) => {
    const { rows } = await query(text);
    order.push(text);
    return rows[0];
  }),
);
console.log(all.join(), order.join());
console.log('rolled', roll(1000), roll(1000), Date.now() > 0, Math.random());
try {
  await query('broken');
} catch (error) {
  console.log(error instanceof Error, error.name, error.message, error.code, error.cause, Object.keys(error).join());
}
console.log(await summary(first.rows), await report('weekly'));
const last = await client.chat.completions.create({
  model: 'orange-1',
  messages: [{ role: 'user', content: `All of it: ${all.join()} at ${first.at} ${Math.random()}` }],
});
console.log(last.choices[0].message.content.length > 0);
setTimeout(() => console.log('later', Math.random()), 5);
