/**
 * `npm run corpus -- [DIR] [--only wire|sdk|views|sessions|replay] [--limit N] [--json FILE]`: replays a folder of recorded exchanges from a local
 * server against programs under the preload and compares. Closes with one line `N passed, N failed`, one per exchange and client.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { corpusDirectory, loadCorpus } from './load.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, limit: { type: 'string', default: '0' }, json: { type: 'string' } },
});
const directory = positionals[0] === undefined ? corpusDirectory() : resolve(positionals[0]);
if (!existsSync(directory)) {
  console.log(`no recorded exchanges at ${directory}; name a folder: npm run corpus -- DIR`);
  console.log('0 passed, 0 failed, 1 skipped');
  process.exit(positionals[0] === undefined ? 0 : 2);
}
const limit = Number(values.limit);
const exchanges = loadCorpus(directory);
console.log(`${exchanges.length} exchanges${limit > 0 ? `, the first ${limit} of them` : ''}`);
const report = {};
const counts = { passed: 0, failed: 0 };

const shown = (list, format) => {
  for (const item of list.slice(0, 10)) console.log(`  ${format(item)}`);
  if (list.length > 10) console.log(`  … and ${list.length - 10} more, see the JSON`);
};

const runs = (part) => values.only === undefined || values.only === part;

if (runs('wire')) {
  const { runWire, wirePassed, wireTable } = await import('./wire.mjs');
  report.wire = await runWire(exchanges, directory, limit);
  console.log(`\n${wireTable(report.wire)}\n`);
  for (const figures of report.wire) {
    const { client, failures, credentialsReplacedInBodies, asLlm, programNoticed, unexpectedSnapshots, seconds } =
      figures;
    console.log(
      `${client}: ${asLlm} recognised as LLM calls; credentials replaced in ${credentialsReplacedInBodies} bodies; ` +
        `${unexpectedSnapshots} unexpected snapshots; the program noticed ${programNoticed.length} differences; ${seconds} s`,
    );
    shown(failures, (f) => JSON.stringify(f));
    shown(programNoticed, (f) => JSON.stringify(f));
    if (figures.programWroteToStderr !== '') console.log(figures.programWroteToStderr);
    counts.passed += figures.recorded.equal + figures.madeUp.equal;
    counts.failed += failures.length + (failures.length === 0 && !wirePassed(figures) ? 1 : 0);
  }
}
if (runs('sdk')) {
  const { runSdk, sdkTable } = await import('./sdk.mjs');
  report.sdk = await runSdk(exchanges, { limit, directory });
  console.log(`\n${sdkTable(report.sdk)}\n`);
  for (const { label, failures, exceptions } of report.sdk) {
    if (failures.length > 0) console.log(`${label}: different`);
    shown(failures, (f) => JSON.stringify(f));
    for (const { reason, count } of exceptions) console.log(`${label}: ${count} not sent: ${reason}`);
  }
  counts.passed += report.sdk.reduce((sum, f) => sum + f.equal, 0);
  counts.failed += report.sdk.reduce((sum, f) => sum + f.failures.length, 0);
}
if (runs('views')) {
  const { runSdkViews, viewsTable } = await import('./sdk-views.mjs');
  const { describeCall } = await import('@orangebox/codec');
  const { rows, different, refused } = await runSdkViews(exchanges, describeCall);
  report.views = { rows: Object.fromEntries(rows), different, refused: Object.fromEntries(refused) };
  console.log(`\n${viewsTable(rows)}\n`);
  shown(different, (d) => `parsed view differs from the SDK's own object: ${JSON.stringify(d)}`);
  for (const [reason, ids] of refused) console.log(`  ${ids.length} the SDK itself refuses: ${reason}`);
  counts.passed += [...rows.values()].reduce((sum, row) => sum + row.equal, 0);
  counts.failed += different.length;
}
if (runs('sessions')) {
  const { runSessions, sessionsPassed, sessionsTable } = await import('./sessions-live.mjs');
  report.sessions = await runSessions(directory);
  console.log(`\n${sessionsTable(report.sessions)}\n`);
  for (const result of report.sessions) {
    shown(result.tornApart, (id) => `torn apart, ${result.width} at a time: ${id}`);
    shown(result.mergedWrongly, (m) => `merged wrongly: ${JSON.stringify(m)}`);
    shown(result.toolResultsMissed, (t) => `tool result not inferred: ${JSON.stringify(t)}`);
    counts[sessionsPassed(result) ? 'passed' : 'failed'] += 1;
  }
}
if (runs('replay')) {
  const { replayPassed, replayTable, runReplay } = await import('./replay.mjs');
  report.replay = await runReplay(exchanges, { directory, ...(limit > 0 && { calls: limit }) });
  console.log(`\n${replayTable(report.replay)}\n`);
  shown(report.replay.failures, (f) => JSON.stringify(f));
  shown(report.replay.exceptions, ({ id, reason }) => `${id}: ${reason}`);
  counts.passed += report.replay.equal + report.replay.sameBytes;
  counts.failed += report.replay.failures.length + (replayPassed(report.replay) ? 0 : 1);
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;
