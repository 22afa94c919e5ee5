/** Calls from a worker thread. */
import { Worker } from 'node:worker_threads';

const worker = new Worker(new URL('./call.mjs', import.meta.url), { argv: [process.argv[2]] });
worker.on('exit', (code) => console.log('worker', code));
