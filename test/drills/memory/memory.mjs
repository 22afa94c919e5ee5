/**
 * `npm run drill:memory -- [--quick] [--bytes N] [--calls N] [--case NAME]`: what Orangebox adds to the peak of a program's memory,
 * against the same program without it, in one run: an answer of 1 GB streamed through, and 10,000 calls whose receiver is dead.
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '../../corpus/spawn.mjs';
import { table } from '../../corpus/table.mjs';
import { ADDED_MAX_BYTES, measureCase, memoryCases } from './cases.mjs';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    bytes: { type: 'string' },
    calls: { type: 'string' },
    case: { type: 'string' },
  },
});
const cases = memoryCases({
  bytes: Number(values.bytes ?? (values.quick ? 2 ** 27 : 2 ** 30)),
  calls: Number(values.calls ?? (values.quick ? 2000 : 10_000)),
}).filter(({ name }) => values.case === undefined || name.includes(values.case));
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

const server = spawn(process.execPath, [fileURLToPath(new URL('server.mjs', import.meta.url))], {
  env: plainEnvironment(),
  stdio: ['pipe', 'pipe', 'inherit'],
});
const url = await new Promise((resolve) =>
  server.stdout.setEncoding('utf8').once('data', (text) => resolve(text.trim())),
);
const rows = [['', 'read', 'peak without', 'peak with', 'added', 'bound', 'seconds without', 'with']];
let failed = 0;
try {
  for (const one of cases) {
    const { without, withIt, addedBytes, wrong } = await measureCase(one, url);
    rows.push([
      one.name,
      mebibytes(JSON.parse(without.stdout).bytes),
      mebibytes(without.peakBytes),
      mebibytes(withIt.peakBytes),
      mebibytes(addedBytes),
      mebibytes(ADDED_MAX_BYTES),
      without.seconds.toFixed(1),
      withIt.seconds.toFixed(1),
    ]);
    if (wrong.length > 0) failed += 1;
    for (const text of wrong) console.log(`${one.name}: ${text}`);
  }
} finally {
  server.stdin.end();
}
console.log(table(rows));
console.log(`\n${cases.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
