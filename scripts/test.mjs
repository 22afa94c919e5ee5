/**
 * `npm test`: the checks, then all tests; closes with one line for both. Arguments go to vitest, and then only tests run: those of
 * a lane with `--config` and its configuration.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from './build-configs.mjs';
import { runChecks } from './check.mjs';

const args = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'orangebox-test-'));
const report = join(directory, 'report.json');

function vitest() {
  return new Promise((resolve) => {
    const child = spawn(
      join(root, 'node_modules/.bin/vitest'),
      [
        'run',
        ...(process.stdout.isTTY ? [] : ['--no-color']),
        '--reporter=dot',
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...args,
      ],
      { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
    );
    child.on('error', () => resolve(127));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

const counts = args.length > 0 ? { passed: 0, failed: 0 } : await runChecks();
const code = await vitest();
let skipped = 0;
try {
  const result = JSON.parse(readFileSync(report, 'utf8'));
  counts.passed += result.numPassedTests;
  counts.failed += result.numFailedTests;
  skipped = result.numPendingTests + result.numTodoTests;
  // A file that does not even load has no tests that could fail.
  const unloaded = result.testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0);
  counts.failed += unloaded.length;
  for (const { name } of unloaded) console.log(`✗ ${relative(root, name)} did not load`);
  for (const { name, assertionResults } of result.testResults) {
    for (const { status, fullName } of assertionResults) {
      if (status === 'failed') console.log(`✗ ${relative(root, name)}: ${fullName}`);
    }
  }
} catch {
  counts.failed += 1;
}
if (code !== 0 && counts.failed === 0) counts.failed += 1;
rmSync(directory, { recursive: true, force: true });
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = counts.failed > 0 ? 1 : 0;
