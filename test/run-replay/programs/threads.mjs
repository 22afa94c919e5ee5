/** Six workers at once, whose messages, failure and ends come in whatever order; each asks the model, and is written back to. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import OpenAI from 'openai';

const ask = async (content) => {
  const client = new OpenAI();
  const { choices } = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content }],
  });
  return choices[0].message.content.slice(0, 40);
};

if (isMainThread) {
  const one = (i) =>
    new Promise((resolve) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: i });
      worker.on('online', () => console.log(i, 'is there'));
      worker.on('message', (text) => {
        console.log(i, 'said', text);
        if (!text.startsWith('tick')) worker.postMessage(`${text} ${Math.random().toString(36).slice(2, 8)}`);
      });
      worker.on('error', (error) => console.log(i, 'failed:', error.message));
      worker.on('exit', (code) => resolve(console.log(i, 'ended with', code)));
    });
  await Promise.all(Array.from({ length: 6 }, (_, i) => one(i)));
} else {
  const said = await ask(`worker ${workerData}, ${Math.random()}`);
  if (workerData === 3) throw new Error('three never works');
  let answers = 0;
  const tick = setInterval(() => parentPort.postMessage(`tick ${answers}`), 2);
  parentPort.on('message', (text) => {
    answers += 1;
    parentPort.postMessage(`${text}, ${answers} times`);
    if (answers < 3) return;
    clearInterval(tick);
    process.exit(workerData);
  });
  parentPort.postMessage(said);
}
