/**
 * `npm run drill:kill -- [--kind kill|exit|disk] [--runs N] [--quick]`: programs that make calls side by side are killed at a random
 * moment (1,000 runs), exit at one (300), or fill their disk (100); then it is seen what is on record.
 */
import { parseArgs } from 'node:util';
import { runDeaths } from './deaths.mjs';
import { canFillDisks, runFullDisks } from './full-disks.mjs';

const RUNS = { kill: 1000, exit: 300, disk: 100 };
const QUICK = 20;
const { values } = parseArgs({
  options: { kind: { type: 'string' }, runs: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const kinds = Object.keys(RUNS).filter((kind) => values.kind === undefined || values.kind === kind);
if (kinds.length === 0) throw new Error(`--kind is one of ${Object.keys(RUNS).join(', ')}`);
let failed = 0;

for (const kind of kinds) {
  if (kind === 'disk' && !canFillDisks) {
    console.log('disk: not run, since file systems may not be mounted here');
    continue;
  }
  const runs = Number(values.runs ?? (values.quick ? QUICK : RUNS[kind]));
  const began = performance.now();
  let told = began;
  let toldWrong = 0;
  const tell = (sums, wrong) => {
    for (const text of wrong.slice(toldWrong)) console.log(`${kind}: ${text}`);
    toldWrong = wrong.length;
    if (performance.now() - told < 20_000) return;
    told = performance.now();
    process.stderr.write(`${kind}: ${sums.runs} of ${runs} runs, ${wrong.length} wrong\n`);
  };
  const { sums, wrong } =
    kind === 'disk' ? await runFullDisks({ runs, onRun: tell }) : await runDeaths({ kind, runs, onBatch: tell });
  tell(sums, wrong);
  const figures = Object.entries(sums).map(([name, value]) => `${value} ${namesOf(kind)[name] ?? name}`);
  console.log(
    `${kind}: ${figures.join(', ')}; ${wrong.length} wrong; ${((performance.now() - began) / 1000).toFixed(0)} s`,
  );
  if (wrong.length > 0 || sums.runs !== runs) failed += 1;
}
console.log(`\n${kinds.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

function namesOf(kind) {
  if (kind === 'disk') return { counted: 'counted by the metric', unkept: 'not kept', torn: 'torn files' };
  return {
    seen: 'requests seen complete',
    recorded: 'calls on record',
    ended: 'seen to end by their program',
    spans: 'with their span',
    doubled: 'with a span that came twice',
    torn: 'torn files',
  };
}
