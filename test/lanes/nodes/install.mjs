/** Brings what the lane needs beside its own files: runtimes, OpenTelemetry SDK 3, and a Next.js app as its standalone output. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Runs a command with its output on stderr; says whether it went well. */
function run(command, args, cwd) {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  return spawnSync(command, args, { cwd, env, stdio: ['ignore', 2, 2] }).status === 0;
}

/** Installs a folder that is not installed yet. */
function install(folder, what, check) {
  if (existsSync(join(folder, 'node_modules/.package-lock.json'))) return true;
  console.log(`installing ${what}`);
  const isInstalled = run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  if (!isInstalled) check(`npm ci of ${what}`, false, 'see above');
  return isInstalled;
}

/** Installs what the lane needs, the whole of it with `whole`; says whether it can go on. */
export async function installLane(here, check, whole) {
  if (!install(here, 'Node.js 20, 22, 24, 26 and openai 7', check)) return false;
  if (!whole) return true;
  if (!install(join(here, 'otel-sdk-3'), 'OpenTelemetry SDK 3', check)) return false;
  const next = join(here, 'next');
  if (!install(next, 'Next.js', check)) return false;
  if (existsSync(join(next, '.cache/next/standalone/server.js'))) return true;
  const startMs = performance.now();
  console.log('building the Next.js app');
  const isBuilt = run('npm', ['run', '--silent', 'build'], next);
  check(`the Next.js app builds (${((performance.now() - startMs) / 1_000).toFixed(0)} s)`, isBuilt, 'see above');
  return true;
}
