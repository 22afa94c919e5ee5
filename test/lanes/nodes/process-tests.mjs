/**
 * The tests that start programs, run under another version of Node.js: vitest runs in it, so that `process.execPath`, with which
 * they start programs, is that version.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** What depends on the version: taps, preload, endings, recorder, spans, shipping. The rest reads files and answers requests. */
const places = [
  'test/preload',
  'test/endings',
  'test/wire',
  'test/recorder',
  'test/shipping',
  'test/traces.test.ts',
  'test/secrets.test.ts',
];

/** Runs them; the counts of passed, failed and skipped. */
export async function runProcessTests(node, major) {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-nodes-'));
  const report = join(directory, 'report.json');
  try {
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const args = ['run', '--project', 'process', '--reporter=json', `--outputFile.json=${report}`, ...places];
    const code = await new Promise((resolve) => {
      const child = spawn(node, [vitest, ...args], {
        cwd: root,
        // Commands that begin with `#!/usr/bin/env node` are to find this version too.
        env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      child.on('error', () => resolve(127));
      child.on('close', resolve);
    });
    return summary(JSON.parse(readFileSync(report, 'utf8')), code, major);
  } catch (error) {
    console.log(`✗ Node.js ${major}: the tests did not run: ${error.message}`);
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function summary(result, code, major) {
  const broken = result.testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0);
  const counts = {
    passed: result.numPassedTests,
    failed: result.numFailedTests + broken.length,
    skipped: result.numPendingTests + result.numTodoTests,
  };
  if (code !== 0 && counts.failed === 0) counts.failed += 1;
  console.log(
    `${counts.failed === 0 ? '✓' : '✗'} Node.js ${major}: ${counts.passed} tests passed, ${counts.failed} failed`,
  );
  for (const file of broken) console.log(`  ${file.name}: ${file.message}`);
  for (const file of result.testResults) {
    for (const test of file.assertionResults.filter(({ status }) => status === 'failed'))
      console.log(
        `  ${file.name.slice(root.length)}: ${test.fullName}\n    ${test.failureMessages.join('\n').slice(0, 1_500)}`,
      );
  }
  return counts;
}
