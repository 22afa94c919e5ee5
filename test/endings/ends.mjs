/**
 * Makes a call that ends and one of which half has come, and then ends in one way. Arguments: way, base URL. It knows nothing of
 * Orangebox.
 */
import cluster from 'node:cluster';
import { fork } from 'node:child_process';
import { isMainThread, Worker } from 'node:worker_threads';

const [way, url] = process.argv.slice(2);
const self = new URL(import.meta.url);

async function calls() {
  const init = (form) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: form === 'half', messages: [{ role: 'user', content: form }] }),
  });
  await (await fetch(`${url}/whole/v1/chat/completions`, init('whole'))).text();
  const half = (await fetch(`${url}/half/v1/chat/completions`, init('half'))).body.getReader();
  await half.read();
  // What came is written at the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  return half;
}

const say = (text) => process.stdout.write(`${text}\n`);
const forEver = () => new Promise(() => setInterval(() => {}, 1000));

const ways = {
  exit: () => process.exit(7),
  'exit-code': () => {
    process.exitCode = 9;
    process.exit();
  },
  uncaught: () => {
    setImmediate(() => {
      throw new Error('nobody catches this');
    });
    return forEver();
  },
  'uncaught-handled': () => {
    process.on('uncaughtException', (error) => {
      say(`caught ${error.message}`);
      process.exit(3);
    });
    setImmediate(() => {
      throw new Error('somebody catches this');
    });
    return forEver();
  },
  rejection: () => {
    void Promise.reject(new Error('nobody handles this'));
    return forEver();
  },
  SIGTERM: () => {
    process.kill(process.pid, 'SIGTERM');
    return forEver();
  },
  SIGINT: () => {
    process.kill(process.pid, 'SIGINT');
    return forEver();
  },
  SIGHUP: () => {
    process.kill(process.pid, 'SIGHUP');
    return forEver();
  },
  'SIGTERM-handled': () => {
    process.on('SIGTERM', () => {
      say('asked to end');
      process.exit(0);
    });
    process.kill(process.pid, 'SIGTERM');
    return forEver();
  },
  SIGKILL: () => {
    process.kill(process.pid, 'SIGKILL');
    return forEver();
  },
  abort: () => process.abort(),
  /** Lets the stream go; the end of the event loop is the end of the process. */
  'empty-loop': (half) => half.cancel(),
};

/** Ways in which another thread or process does it. */
const elsewhere = {
  terminate: async () => {
    const worker = new Worker(self, { argv: ['called', url] });
    await new Promise((resolve) => worker.once('message', resolve));
    say(`terminated: ${await worker.terminate()}`);
  },
  'worker-exit': async () => {
    const worker = new Worker(self, { argv: ['exit', url] });
    say(`worker: ${await new Promise((resolve) => worker.once('exit', resolve))}`);
  },
  child: async () => {
    const child = fork(self, ['exit', url]);
    say(`child: ${await new Promise((resolve) => child.once('exit', resolve))}`);
  },
  cluster: async () => {
    cluster.setupPrimary({ exec: self.pathname, args: ['exit', url] });
    const worker = cluster.fork();
    say(`cluster: ${await new Promise((resolve) => worker.once('exit', resolve))}`);
  },
};

if (way in elsewhere) {
  await elsewhere[way]();
} else {
  const half = await calls();
  if (way === 'called') {
    const { parentPort } = await import('node:worker_threads');
    if (!isMainThread) parentPort.postMessage('called');
    await forEver();
  }
  await ways[way](half);
}
