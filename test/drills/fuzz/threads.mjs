/** The threads of the fuzz drill, watched from outside: one that hangs or runs out of memory is ended, its input kept, and replaced. */
import { Worker } from 'node:worker_threads';
import { cpuMs, KINDS } from './run-inputs.mjs';

/** Heap of a thread; what needs more than this for inputs of some KB is a fault. */
export const HEAP_MAX_MB = 192;
/** An input during which the process used so much CPU will not come to an end. */
const HANG_MS = 20_000;
const LOOK_EVERY_MS = 500;

/**
 * Runs `count` inputs of a kind in threads.
 * @param onFailure told `{number, wrong, file}` of each failure
 * @param onProgress told from time to time how many are done
 * @returns results of the threads
 */
export async function runThreads({ kindName, seed, from = 0, count, threads, onFailure, onProgress = () => {} }) {
  const states = Array.from({ length: threads }, () => new Float64Array(new SharedArrayBuffer(24)));
  const timer = setInterval(() => onProgress(states.reduce((sum, state) => sum + state[2], 0)), 10_000);
  const inputFile = (number) => KINDS[kindName].toFile(KINDS[kindName].make(seed, number));
  const lane = async (n) => {
    const results = [];
    let next = from + n;
    while (next < from + count) {
      const range = { kindName, seed, from: next, to: from + count, step: threads };
      const { result, stopped, why } = await runThread(range, states[n], onFailure);
      if (result) {
        results.push(result);
        break;
      }
      onFailure({ number: stopped, wrong: why, file: inputFile(stopped) });
      next = stopped + threads;
    }
    return results;
  };
  try {
    return (await Promise.all(states.map((_, n) => lane(n)))).flat();
  } finally {
    clearInterval(timer);
  }
}

/** Runs one thread to its end: its result, or where and why it stopped. */
function runThread(range, state, onFailure) {
  state[0] = range.from;
  state[1] = 0;
  const worker = new Worker(new URL('worker.mjs', import.meta.url), {
    workerData: { ...range, shared: state.buffer },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB, maxYoungGenerationSizeMb: 32 },
  });
  return new Promise((resolve) => {
    let result;
    let why;
    let seen = -1;
    let sinceMs = cpuMs();
    const watch = setInterval(() => {
      if (state[1] !== seen || state[1] === 0) {
        seen = state[1];
        sinceMs = cpuMs();
      }
      if (cpuMs() - sinceMs < HANG_MS || why !== undefined) return;
      why = `did not come to an end in ${HANG_MS} ms of CPU`;
      void worker.terminate();
    }, LOOK_EVERY_MS);
    worker.on('message', (message) => {
      if (message.failed) onFailure(message.failed);
      if (message.result) result = message.result;
    });
    worker.on('error', (error) => {
      why ??= `the thread ended: ${error.code ?? ''} ${error.message}`;
    });
    worker.on('exit', (code) => {
      clearInterval(watch);
      resolve({ result, stopped: state[0], why: why ?? `the thread ended with ${code}` });
    });
  });
}
