/** One thread of the fuzz drill: runs its share of the inputs and tells the main thread which one it is at. */
import { parentPort, workerData } from 'node:worker_threads';
import { KINDS, runInputs, settledMemory } from './run-inputs.mjs';

const { kindName, seed, from, to, step, shared } = workerData;
/** Number of the input, whether one is under way, and how many are done. */
const state = new Float64Array(shared);
const begin = settledMemory();
const result = await runInputs({
  kindName,
  seed,
  from,
  to,
  step,
  before: (number) => {
    state[0] = number;
    state[1] = number + 1;
    state[2] += 1;
  },
  failed: (number, input, wrong) =>
    parentPort.postMessage({ failed: { number, wrong, file: KINDS[kindName].toFile(input) } }),
});
// Nothing is at work any more: what is measured now is not the last input.
state[1] = 0;
parentPort.postMessage({ result: { ...result, begin, end: settledMemory() } });
