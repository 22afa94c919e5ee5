/**
 * The transparency suite: every case without and with Orangebox, compared, and what was recorded of it.
 *
 *     node test/transparency/run.mjs [--node PATH]... [--only EXPRESSION] [--sample] [--whole] [--jobs N] [--times]
 *
 * `--node` names a Node.js binary (repeatable; the running one by default), `--whole` streams the whole gigabyte, `--times` says on
 * stderr how each row went as soon as it did.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runSuite } from './suite/suite.mjs';
import { countCells, formatTable } from './suite/table.mjs';

const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true },
    only: { type: 'string' },
    sample: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
    times: { type: 'boolean', default: false },
  },
});

const result = await runSuite({
  nodes: values.node?.map((path) => resolve(path)) ?? [process.execPath],
  ...(values.only === undefined ? {} : { only: values.only }),
  sample: values.sample,
  whole: values.whole,
  jobs: Number(values.jobs),
  onRow: (id, version, { result: mark, failures, milliseconds = 0 }) => {
    if (!values.times) return;
    console.error(`${mark.padEnd(8)} ${milliseconds.toFixed(0).padStart(6)} ms  ${version}  ${id}`);
    for (const failure of failures) console.error(`         ${failure}`);
  },
});
const { passed, failed, skipped } = countCells(result);
console.log(formatTable(result));
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
