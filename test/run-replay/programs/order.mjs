/** What depends on the order in which answers and timers come. */
import OpenAI from 'openai';

const client = new OpenAI({ maxRetries: 1 });
const params = (text) => ({ model: 'orange-1', messages: [{ role: 'user', content: text }] });
const ask = (text, options = {}) => client.chat.completions.create(params(text), options);
const read = (text, options = {}) => client.chat.completions.create({ ...params(text), stream: true }, options);

const finished = [];
await Promise.all(['one', 'two', 'three'].map((text) => ask(text).then(() => finished.push(text))));
console.log('completed', finished.join());
for (let i = 0; i < 4; i += 1) {
  const runners = ['a', 'b', 'c'].map((name) => ask(`race ${i} of ${name}`).then(() => name));
  console.log('winner', await Promise.race(runners));
}

const pieces = [];
const stream = async (i) => {
  for await (const chunk of await read(`stream ${i}`)) {
    pieces.push(`${i}:${chunk.choices[0]?.delta?.content?.length ?? '-'}`);
  }
};
await Promise.all(Array.from({ length: 20 }, (_, i) => stream(i)));
console.log(pieces.join(' '));

const late = new Promise((resolve) => setTimeout(resolve, 2, 'the timer'));
console.log('first', await Promise.race([ask('slow').then(() => 'the answer'), late]));
const told = (error) => console.log(error.constructor.name, error.message);
await ask('too late', { timeout: 2 }).then(() => console.log('in time'), told);

const controller = new AbortController();
try {
  let seen = 0;
  for await (const _ of await read('abort', { signal: controller.signal })) {
    seen += 1;
    if (seen === 3) controller.abort();
  }
  console.log('chunks', seen);
} catch (error) {
  told(error);
}
for await (const _ of await read('leave')) break;
await fetch('http://127.0.0.1:59999/nobody').catch((error) => console.log(error.message, error.cause?.code));

const order = [];
const interval = setInterval(() => order.push('interval'), 2);
setTimeout(() => order.push('5 ms'), 5);
setTimeout(() => order.push('1 ms'), 1);
setImmediate(() => order.push('immediate'));
process.nextTick(() => order.push('tick'));
await new Promise((resolve) => setTimeout(resolve, 20));
clearInterval(interval);
console.log(order.join());
