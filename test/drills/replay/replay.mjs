/**
 * `npm run drill:replay -- [--quick] [--only NAME] [--replays N] [--order N]`: unmodified agents are recorded and replayed
 * 20 times each with nobody there, and a program of races 1,000 times, in four recordings.
 */
import { parseArgs } from 'node:util';
import { agents, order } from './agents.mjs';
import { recordAgent } from './recorded-agent.mjs';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    replays: { type: 'string' },
    order: { type: 'string' },
  },
});
const replays = Number(values.replays ?? (values.quick ? 2 : 20));
const orderReplays = Number(values.order ?? (values.quick ? 8 : 1_000));
const RECORDINGS_OF_ORDER = 4;
const PARALLEL = 2;
const SHOWN_LENGTH = 3_000;

const jobs = [
  ...agents.map((agent) => ({ agent, count: replays })),
  ...Array.from({ length: RECORDINGS_OF_ORDER }, (_, i) => ({
    agent: { ...order, name: `order ${i + 1} of ${RECORDINGS_OF_ORDER}` },
    count: Math.floor(orderReplays / RECORDINGS_OF_ORDER),
  })),
].filter(({ agent }) => values.only === undefined || agent.name.includes(values.only));

/** Records once, replays `count` times one after the other, prints a line. */
async function drill({ agent, count }) {
  const startMs = performance.now();
  const run = await recordAgent(agent);
  try {
    const recordedMs = performance.now() - startMs;
    let equal = 0;
    let shown;
    const times = [];
    const rungs = {};
    const isRecorded = run.recorded.code === agent.code && run.runId !== '';
    if (!isRecorded) shown = `recorded with code ${run.recorded.code}: ${run.recorded.stderr}`;
    for (let i = 0; i < count && isRecorded; i += 1) {
      const again = await run.replay();
      const wrong = run.differences(again);
      times.push(again.milliseconds);
      for (const [rung, served] of Object.entries(again.receipt?.rungs ?? {}))
        rungs[rung] = (rungs[rung] ?? 0) + served;
      if (wrong.length === 0 && again.digest === run.digest) equal += 1;
      else shown ??= `replay ${i + 1}: ${wrong.join('\n')}`;
    }
    const passed = isRecorded && equal === count;
    const middle = times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
    const used = Object.entries(rungs).filter(([, served]) => served > 0);
    console.log(
      `${passed ? '✓' : '✗'} ${agent.name}: ${equal} of ${count} replays equal; ${run.requests} requests, ` +
        `${used.map(([rung, served]) => `${served} ${rung}`).join(', ') || 'none served'}, ` +
        `recorded in ${recordedMs.toFixed(0)} ms, replayed in ${middle.toFixed(0)} ms`,
    );
    if (shown !== undefined) console.log(shown.slice(0, SHOWN_LENGTH));
    return passed;
  } finally {
    await run.remove();
  }
}

const waiting = [...jobs];
const results = [];
async function work() {
  for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
    try {
      results.push(await drill(job));
    } catch (error) {
      console.log(`✗ ${job.agent.name}: ${error.stack}`);
      results.push(false);
    }
  }
}
await Promise.all(Array.from({ length: PARALLEL }, work));
const passed = results.filter(Boolean).length;
console.log(`\n${passed} passed, ${results.length - passed} failed`);
process.exitCode = passed < results.length ? 1 : 0;
