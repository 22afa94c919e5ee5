/**
 * The lane of Node.js versions: everything that works on the level of processes, on Node.js 20, 22, 24 and 26. The transparency suite
 * with its table of cases by versions; the process tests, run by the version they test, beside the OpenTelemetry lines that it allows
 * (SDK 3 from 22.15); `openai` 7, which needs 22; the demo's agent in every way to load the preload; and, where the corpus is there,
 * wire and SDK comparisons. Linux on x64 only; elsewhere it is skipped. Without `--whole` the transparency suite runs its sample, and no
 * process tests run: all of both take more time than there is for a lane. Names as arguments choose parts: `agents`, `corpus`, `tests`, `transparency`; `--node 22`
 * to one version.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runSuite } from '../../transparency/suite/suite.mjs';
import { countCells, formatTable } from '../../transparency/suite/table.mjs';
import { runAgents } from './agents.mjs';
import { runCorpus } from './corpus.mjs';
import { installLane } from './install.mjs';
import { runProcessTests } from './process-tests.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const counts = { passed: 0, failed: 0, skipped: 0 };
const startMs = performance.now();

function check(label, ok, detail = '') {
  console.log(`${ok ? '✓' : '✗'} ${label}${ok ? '' : `\n  ${String(detail).slice(0, 2_000)}`}`);
  counts[ok ? 'passed' : 'failed'] += 1;
}

function add({ passed, failed, skipped }) {
  counts.passed += passed;
  counts.failed += failed;
  counts.skipped += skipped;
}

function finish() {
  const { passed, failed, skipped } = counts;
  console.log(`\nin ${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exit(failed > 0 ? 1 : 0);
}

/** Says how long a part took, so that what grows is seen. */
async function part(name, work) {
  if (names.length > 0 ? !names.includes(name) : name === 'tests' && !values.whole) return;
  const fromMs = performance.now();
  console.log(`\n== ${name}`);
  await work();
  console.log(`   ${name}: ${((performance.now() - fromMs) / 1_000).toFixed(0)} s`);
}

const { positionals: names, values } = parseArgs({
  allowPositionals: true,
  options: { node: { type: 'string', multiple: true }, whole: { type: 'boolean', default: false } },
});

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log('other Node.js versions come as binaries for Linux on x64 only');
  counts.skipped += 1;
  finish();
}
if (!(await installLane(here, check, values.whole))) finish();

const nodes = ['20', '22', '24', '26']
  .filter((major) => values.node === undefined || values.node.includes(major))
  .map((major) => ({ major: Number(major), path: join(here, `node_modules/node-${major}/bin/node`) }));

await part('agents', async () => {
  for (const { major, path } of nodes) await runAgents(path, major, check);
});
await part('corpus', async () => {
  // Node.js 20 and its SDK are compared by the lane of the corpus.
  for (const { major, path } of nodes.filter((node) => node.major > 20)) {
    if (!(await runCorpus(join(here, 'package.json'), path, major, check))) counts.skipped += 1;
  }
});
await part('tests', async () => {
  // The running version's are those of `npm test`.
  const running = Number(process.versions.node.split('.', 1)[0]);
  for (const { major, path } of nodes) if (major !== running) add(await runProcessTests(path, major));
});
await part('transparency', async () => {
  const result = await runSuite({
    nodes: nodes.map(({ path }) => path).filter((path) => existsSync(path)),
    sample: !values.whole,
  });
  console.log(formatTable(result));
  add(countCells(result));
});
finish();
