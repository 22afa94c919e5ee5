/** Runs inputs one by one: each within its time, and without asking for more memory than its size allows. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { takeLargestBytes, watchAllocations } from './allocations.mjs';
import { checkBody, checkPrototypes, resetBodies } from './body-check.mjs';
import { bodyFile, bodyInput, bodyOfFile } from './body-inputs.mjs';
import { checkSegment } from './segment-check.mjs';
import { segmentInput } from './segment-inputs.mjs';

/**
 * Milliseconds of the process' CPU that may pass during an input (other threads' too, so it is less of its own); measured again where
 * it was more. Time on the clock would tell how busy the machine is.
 */
export const INPUT_MAX_MS = 1000;
const MEASURED_AGAIN = 3;
/** An input may have one piece of memory made that is this many times its size, and some more. */
const ALLOCATION_FACTOR = 16;
const ALLOCATION_BASE_BYTES = 2 ** 20;
/** Inputs that may leave something to one another. */
const RESET_EVERY = 1000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** The kinds of inputs: how one is made, kept as a file and checked. */
export const KINDS = {
  segment: {
    make: segmentInput,
    check: checkSegment,
    sizeOf: (bytes) => bytes.length,
    toFile: (bytes) => bytes,
    ofFile: (bytes) => bytes,
    extension: 'obxs',
  },
  body: {
    make: bodyInput,
    check: checkBody,
    sizeOf: ({ request, response }) => request.length + response.length,
    toFile: (input) => Buffer.from(bodyFile(input)),
    ofFile: (bytes) => bodyOfFile(bytes.toString('utf8')),
    extension: 'json',
  },
};

/** CPU time of the process so far. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function timed(kind, input, number) {
  const startMs = cpuMs();
  await kind.check(input, number);
  return cpuMs() - startMs;
}

/** Checks one input; gives what is wrong with it, if anything, and how long it took. */
export async function checkInput(kind, input, number, maxMs = INPUT_MAX_MS) {
  try {
    takeLargestBytes();
    let tookMs = await timed(kind, input, number);
    const largest = takeLargestBytes();
    const most = ALLOCATION_BASE_BYTES + ALLOCATION_FACTOR * kind.sizeOf(input);
    if (largest > most) return { tookMs, wrong: `asked for ${largest} bytes at once, ${most} are allowed` };
    for (let again = 0; tookMs > maxMs && again < MEASURED_AGAIN; again++) {
      tookMs = Math.min(tookMs, await timed(kind, input, number));
    }
    return { tookMs, wrong: tookMs > maxMs ? `took ${Math.round(tookMs)} ms of CPU` : undefined };
  } catch (error) {
    return { tookMs: 0, wrong: String(error?.stack ?? error) };
  }
}

/** Bytes in use after a collection: `{heap, external}`. */
export function settledMemory() {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return { heap: heapUsed, external };
}

/**
 * Runs the inputs `from`, `from + step`, … below `to`.
 * @param before told the number of each input before it begins
 * @param failed told the number, the input and what is wrong
 * @returns `{count, bytes, slowestMs, slowest, memory}`
 */
export async function runInputs({ kindName, seed, from, to, step = 1, before = () => {}, failed }) {
  const kind = KINDS[kindName];
  const result = { count: 0, bytes: 0, slowestMs: 0, slowest: -1 };
  const unwatch = watchAllocations();
  try {
    for (let number = from; number < to; number += step) {
      if (result.count % RESET_EVERY === 0) resetBodies();
      before(number);
      const input = kind.make(seed, number);
      const { tookMs, wrong } = await checkInput(kind, input, number);
      result.count += 1;
      result.bytes += kind.sizeOf(input);
      if (tookMs > result.slowestMs) Object.assign(result, { slowestMs: tookMs, slowest: number });
      if (wrong !== undefined) failed(number, input, wrong);
    }
    checkPrototypes();
  } finally {
    unwatch();
  }
  resetBodies();
  return result;
}
