/** Runs rows under Node.js binaries, several at a time, and says how each went. */
import { execFileSync } from 'node:child_process';
import { compareRuns } from './compare.mjs';
import { checkRecording } from './recorded.mjs';
import { loadRows } from './rows.mjs';
import { runOnce } from './run-once.mjs';

/** Deviations that the case declares for this version of Node.js, by label. */
function declaredOf(testCase, major) {
  const declared = (testCase.deviations ?? []).filter(({ on }) => on === undefined || on(major));
  return new Map(declared.map((deviation) => [deviation.label, deviation]));
}

/**
 * Runs one row: without, with, comparison, recording.
 * @returns `{result: 'equal' | 'named' | 'failed' | 'skipped', failures, named}`
 */
async function runRow(row) {
  const { testCase, major } = row;
  const unfit = testCase.skip?.(major);
  if (typeof unfit === 'string') return { result: 'skipped', failures: [], named: [unfit] };
  await testCase.prepare?.(row);
  const [without, with_] = await Promise.all([runOnce(row, false), runOnce(row, true)]);
  try {
    const declared = declaredOf(testCase, major);
    const deviations = compareRuns(without, with_);
    const failures = deviations
      .filter(({ label }) => !declared.has(label))
      .map(({ label, detail }) => `${label} differs\n       ${detail}`);
    for (const { label, sometimes } of declared.values()) {
      if (sometimes !== true && !deviations.some((d) => d.label === label))
        failures.push(`${label} is declared to differ and does not`);
    }
    const code = testCase.code ?? (testCase.command === undefined ? 0 : undefined);
    if (code !== undefined && without.code !== code)
      failures.push(`exit code ${without.code} without Orangebox, ${code} expected: ${without.stderr.slice(0, 500)}`);
    if (without.late) failures.push('the program does not end by itself');
    // A case that fails to do what it is for would be equal all the same.
    for (const problem of without.observations
      .map((line) => JSON.parse(line))
      .filter(([label]) => label === 'thrown')) {
      if (testCase.throws !== true)
        failures.push(`the case itself failed: ${JSON.stringify(problem[1]).slice(0, 800)}`);
    }
    if (testCase.command === undefined && without.observations.length < 2)
      failures.push(`the case observed nothing: ${without.stderr.slice(0, 800)}`);
    failures.push(...(await checkRecording(testCase, with_)));
    const named = [...declared.values()].map(({ why }) => why);
    const result = failures.length > 0 ? 'failed' : named.length > 0 ? 'named' : 'equal';
    return { result, failures, named, milliseconds: with_.milliseconds };
  } finally {
    without.discard();
    with_.discard();
  }
}

/** Version of a Node.js binary. */
export const versionOf = (node) => execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1);

/**
 * Runs the suite.
 * @param nodes paths of Node.js binaries: a column each
 * @param only rows whose name has this text or matches this expression
 * @param sample only those cases that stand for the others
 * @param onRow called with each row that is done
 * @returns `{versions, rows: [{id, group, cells: [{result, failures, named}]}]}`
 */
export async function runSuite({ nodes, only, sample = false, whole = false, jobs = 2, onRow = () => undefined }) {
  const versions = nodes.map(versionOf);
  const rows = (await loadRows()).filter(
    ({ id, testCase }) => (only === undefined || new RegExp(only).test(id)) && (!sample || testCase.sample === true),
  );
  const table = rows.map((row) => ({ id: row.id, group: row.group, cells: nodes.map(() => undefined) }));
  const queue = rows.flatMap((row, i) => nodes.map((node, column) => ({ row, i, node, column })));
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { row, i, node, column } = next;
      const major = Number(versions[column].split('.', 1)[0]);
      const cell = await runRow({ ...row, node, major, whole }).catch((error) => ({
        result: 'failed',
        failures: [`the suite failed: ${error.stack}`],
        named: [],
      }));
      table[i].cells[column] = cell;
      onRow(table[i].id, versions[column], cell);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return { versions, rows: table };
}
