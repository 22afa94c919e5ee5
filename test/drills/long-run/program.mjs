/**
 * The long run: calls through the recorder at full speed, as taps would play them, in a process of its own (`--expose-gc`).
 * Arguments: calls, calls between two measurements. Prints a JSON line per measurement, and one at the end.
 */
import { readdirSync } from 'node:fs';
import { createRecorder } from '@orangebox/recorder';
import { play, startProgram } from './calls.mjs';

const [countText = '1000000', everyText = '100000'] = process.argv.slice(2);
const count = Number(countText);
const every = Number(everyText);
/** Calls begun in one turn of the event loop. */
const PER_TURN = 25;

const warnings = [];
const recorder = createRecorder({ writeWarning: (line) => warnings.push(line) });
const program = startProgram(recorder);
const turn = () => new Promise((resolve) => setImmediate(resolve));

const openDescriptors = () => readdirSync('/proc/self/fd').length;

async function settled() {
  // What was put off is done before anything is counted.
  for (let n = 0; n < 50; n++) await turn();
  globalThis.gc();
  await turn();
  globalThis.gc();
}

async function measure(calls, startMs) {
  await settled();
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length;
  const { open, heldBytes, faults } = recorder.stats();
  const seconds = (performance.now() - startMs) / 1000;
  const line = {
    calls,
    seconds,
    rss,
    heapUsed,
    external,
    descriptors: openDescriptors(),
    resources,
    open,
    heldBytes,
    faults,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const startMs = performance.now();
for (let calls = 0; calls < count; ) {
  for (let n = 0; n < PER_TURN && calls < count; n++) {
    play(program, calls);
    calls += 1;
    if (calls % every === 0) await measure(calls, startMs);
  }
  await turn();
}
await recorder.flush(5_000);
recorder.flushSync('process_exit');
await settled();
const { calls, tools, open, faults } = recorder.stats();
process.stdout.write(`${JSON.stringify({ end: { calls, tools, open, faults, warnings, made: program.made } })}\n`);
