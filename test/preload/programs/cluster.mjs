/** Calls from a cluster worker. */
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';

if (cluster.isPrimary) {
  cluster.setupPrimary({ exec: fileURLToPath(new URL('./call.mjs', import.meta.url)), args: [process.argv[2]] });
  cluster.fork().on('message', () => undefined);
  cluster.on('online', (worker) => worker.disconnect());
}
