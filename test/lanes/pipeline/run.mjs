/**
 * The pipeline lane: real collector, Jaeger, SeaweedFS and Prometheus. `npm run test:pipeline [-- FILE...]` runs the tests,
 * `npm run drill:pipeline [-- NAME... [--quick]]` (`--drills` here) the long drills. The servers have to be there; CI makes them
 * itself.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { serverBinary, serverNames } from '../../servers/build.mjs';

const inRepository = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const args = process.argv.slice(2).filter((arg) => arg !== '--drills' && arg !== '--quick');
const drills = process.argv.includes('--drills');

function node(script, ...rest) {
  return new Promise((resolve) => {
    const quick = process.argv.includes('--quick') ? { PIPELINE_QUICK: '1' } : {};
    const env = drills ? { ...process.env, PIPELINE_DRILLS: '1', ...quick } : process.env;
    const child = spawn(process.execPath, [inRepository(script), ...rest], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

const missing = () => serverNames.filter((name) => !existsSync(serverBinary(name) ?? ''));

if (missing().length > 0 && process.env.CI === 'true') await node('test/servers/build.mjs');
if (missing().length > 0) {
  console.log(
    `The pipeline lane needs ${missing().join(', ')}: run \`npm run servers:build\` first (Go; some minutes, once).`,
  );
  console.log('0 passed, 1 failed');
  process.exit(1);
}
process.exitCode = await node(
  'scripts/test.mjs',
  '--config',
  inRepository('test/lanes/pipeline/vitest.config.ts'),
  ...args,
);
