/**
 * The lane of other Node.js versions: 22, 24 and 26, and `openai` 7, which needs them. The agent of the demo under the preload in
 * every way to load it, and, where the corpus is there, wire and SDK comparisons. Linux on x64 only; elsewhere it is skipped.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { hasCorpus, loadCorpus } from '../../corpus/load.mjs';
import { runSdkVersion, sdkVersion } from '../../corpus/sdk.mjs';
import { snapshotsIn } from '../../corpus/snapshots.mjs';
import { registerPath, runProgram } from '../../corpus/spawn.mjs';
import { runWire, wirePassed } from '../../corpus/wire.mjs';
import { startProvider } from '../../fixtures/provider/server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const counts = { passed: 0, failed: 0 };

function check(label, ok, detail = '') {
  console.log(`${ok ? '✓' : '✗'} ${label}${ok ? '' : `\n  ${String(detail).slice(0, 2_000)}`}`);
  counts[ok ? 'passed' : 'failed'] += 1;
}

function finish(skipped = 0) {
  console.log(`${counts.passed} passed, ${counts.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exit(counts.failed > 0 ? 1 : 0);
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log('other Node.js versions come as binaries for Linux on x64 only');
  finish(1);
}
if (!existsSync(join(here, 'node_modules/.package-lock.json'))) {
  console.log('installing Node.js 22, 24, 26 and openai 7');
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: here,
    stdio: ['ignore', 2, 2],
  });
  if (result.status !== 0) {
    check('npm ci', false, 'see above');
    finish();
  }
}

const agent = join(here, '../../demo/agent.mjs');
const ways = {
  '--require': ['--require', registerPath],
  '--import': ['--import', pathToFileURL(registerPath).href],
  both: ['--require', registerPath, '--import', pathToFileURL(registerPath).href],
};

/** The demo's agent in every way to load the preload: the same output as without, five requests in four calls on record. */
async function runAgents(node, version) {
  for (const [way, nodeArgs] of [['without', []], ...Object.entries(ways)]) {
    const provider = await startProvider({ script: 'status=429,nth=3,retry-after-ms=1' });
    const directory = mkdtempSync(join(tmpdir(), 'orangebox-nodes-'));
    try {
      const env = {
        ORANGEBOX_DIR: directory,
        OPENAI_API_KEY: 'sk-lane-not-a-real-key-0123456789',
        OPENAI_BASE_URL: `${provider.url}/v1`,
      };
      const program = await runProgram(agent, [], { preload: false, node, nodeArgs, env });
      if (way === 'without') {
        runAgents.expected = program.stdout;
        continue;
      }
      const calls = [];
      for await (const { snapshot } of snapshotsIn(directory)) if (snapshot.kind === 'llm') calls.push(snapshot);
      const attempts = calls.map((c) => c.exchanges.length).join(' ');
      const same = program.code === 0 && program.stdout === runAgents.expected && program.stderr === '';
      check(`Node.js ${version}, ${way}: the agent sees the same`, same, program.stderr || program.stdout);
      check(`Node.js ${version}, ${way}: each call once, the retry in its call`, attempts === '1 1 2 1', attempts);
    } finally {
      await provider.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

const exchanges = hasCorpus() ? loadCorpus() : undefined;
for (const major of [22, 24, 26]) {
  const node = join(here, `node_modules/node-${major}/bin/node`);
  await runAgents(node, major);
  if (exchanges === undefined) continue;
  const from = join(here, 'package.json');
  const sdk = await runSdkVersion({ from, every: major === 22 ? 2 : 6, node }, exchanges);
  const label = `Node.js ${major}, openai ${sdkVersion(from)}: ${sdk.equal} of ${sdk.calls} calls equal, ${sdk.events} stream events`;
  check(label, sdk.failures.length === 0, JSON.stringify(sdk.failures.slice(0, 3)));
  for (const figures of await runWire(exchanges, undefined, 0, node)) {
    const { client, recorded, madeUp, failures, programNoticed } = figures;
    const equal = `${recorded.equal + madeUp.equal} of ${recorded.exchanges + madeUp.exchanges} exchanges equal`;
    check(
      `Node.js ${major}, ${client}: ${equal}`,
      wirePassed(figures),
      JSON.stringify([failures.slice(0, 3), programNoticed.slice(0, 3)]),
    );
  }
}
finish(exchanges === undefined ? 1 : 0);
