/** The demo's agent under another version of Node.js, in every way to load the preload. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { snapshotsIn } from '../../corpus/snapshots.mjs';
import { registerPath, runProgram } from '../../corpus/spawn.mjs';
import { startProvider } from '../../fixtures/provider/server.mjs';

const agent = fileURLToPath(new URL('../../demo/agent.mjs', import.meta.url));
const ways = {
  '--require': ['--require', registerPath],
  '--import': ['--import', pathToFileURL(registerPath).href],
  both: ['--require', registerPath, '--import', pathToFileURL(registerPath).href],
};

/** The same output as without, five requests in four calls on record. */
export async function runAgents(node, version, check) {
  let expected;
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
        expected = program.stdout;
        continue;
      }
      const calls = [];
      for await (const { snapshot } of snapshotsIn(directory)) if (snapshot.kind === 'llm') calls.push(snapshot);
      const attempts = calls.map((c) => c.exchanges.length).join(' ');
      const same = program.code === 0 && program.stdout === expected && program.stderr === '';
      check(`Node.js ${version}, ${way}: the agent sees the same`, same, program.stderr || program.stdout);
      check(`Node.js ${version}, ${way}: each call once, the retry in its call`, attempts === '1 1 2 1', attempts);
    } finally {
      await provider.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }
}
