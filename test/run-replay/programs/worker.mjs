/** A program whose worker asks, too. */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import OpenAI from 'openai';

const client = new OpenAI();
const ask = async (content) => {
  const { choices } = await client.chat.completions.create({
    model: 'orange-1',
    messages: [{ role: 'user', content }],
  });
  return choices[0].message.content;
};
if (isMainThread) {
  console.log(await ask(`main ${Math.random()}`));
  const worker = new Worker(new URL(import.meta.url));
  const said = await new Promise((resolve) => worker.once('message', resolve));
  console.log(said, Date.now(), await ask(`The worker says ${said}`));
} else {
  parentPort.postMessage(await ask(`worker ${Math.random()} at ${new Date().toISOString()}`));
}
