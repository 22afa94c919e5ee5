/**
 * A process manager in small, as pm2 starts an app in cluster mode: workers that share a port, say `ready`, and are asked to end by
 * SIGINT. The primary prints what it saw, in an order of its own.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:http';

const body = JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] });
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };

async function primary() {
  const workers = [cluster.fork(), cluster.fork()];
  const messages = await Promise.all(workers.map((worker) => once(worker, 'message')));
  const ports = messages.map(([message]) => message.port);
  console.log('ready', ports.length, ports[0] === ports[1]);
  for (const [i, worker] of workers.entries()) {
    worker.send('ask');
    const [message] = await once(worker, 'message');
    console.log('worker', i, message);
    const ended = once(worker, 'exit');
    worker.process.kill('SIGINT');
    console.log('ended', await ended, worker.exitedAfterDisconnect);
  }
  const third = cluster.fork();
  await once(third, 'message');
  const ended = once(third, 'exit');
  third.process.kill('SIGTERM');
  console.log('ended by the signal itself', await ended);
}

function work() {
  const server = createServer((_request, response) => response.end('worker')).listen(0, '127.0.0.1', () => {
    process.send({ ready: true, port: server.address().port });
  });
  // The third worker leaves signals to Node.js.
  if (cluster.worker.id < 3) {
    process.on('SIGINT', () => {
      server.close(() => process.exit(3));
      cluster.worker.disconnect();
    });
  }
  process.on('message', () => {
    void fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: 'POST', headers, body }).then(
      async (response) => process.send({ status: response.status, answer: await response.json() }),
    );
  });
}

if (cluster.isPrimary) await primary();
else work();
