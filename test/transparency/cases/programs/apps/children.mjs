/** Calls from a worker thread, from a forked child, and from a worker that is terminated in mid-stream. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const url = `${process.env.OPENAI_BASE_URL}/chat/completions`;
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };
const ask = (who, extra = {}) => {
  const body = JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: who }], ...extra });
  return fetch(url, {
    method: 'POST',
    headers: { ...headers, 'x-provider-script': extra.stream ? 'hang=2' : '' },
    body,
  });
};

if (!isMainThread) {
  if (workerData === 'stream') {
    const response = await ask('a stream', { stream: true });
    parentPort.postMessage((await response.body.getReader().read()).value.length > 0);
    await new Promise(() => setInterval(() => undefined, 60_000));
  }
  parentPort.postMessage((await (await ask('a worker')).json()).choices[0].message);
} else if (process.send !== undefined) {
  process.send((await (await ask('a child')).json()).choices[0].message);
  process.disconnect();
} else {
  const file = fileURLToPath(import.meta.url);
  const worker = new Worker(file);
  worker.on('message', (message) => console.log('worker', message));
  console.log('worker ended', await once(worker, 'exit'));
  const child = fork(file);
  child.on('message', (message) => console.log('child', message));
  console.log('child ended', await once(child, 'close'));
  const streaming = new Worker(file, { workerData: 'stream' });
  console.log('streaming', await once(streaming, 'message'));
  console.log('terminated', await streaming.terminate());
}
