/**
 * Makes a clone ready to run: installs dependencies when they are missing or differ from the lock, and builds what is stale.
 * With `--programs` also the test programs that need dependencies of their own (`test/programs/*`). Uses Node's own modules
 * only, since it runs before anything is installed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** How a folder must be installed: not at all, from scratch, or by bringing what is there up to date. */
function installNeeded(directory) {
  const hiddenLock = join(directory, 'node_modules/.package-lock.json');
  if (!existsSync(hiddenLock)) return 'ci';
  const installed = readJson(hiddenLock).packages;
  for (const [path, wanted] of Object.entries(readJson(join(directory, 'package-lock.json')).packages)) {
    if (!path.startsWith('node_modules/') || wanted.optional || wanted.peer === true) continue;
    if (wanted.link ? !existsSync(join(directory, path)) : installed[path]?.version !== wanted.version)
      return 'install';
  }
  return undefined;
}

function npm(directory, command) {
  const result = spawnSync('npm', [command, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (result.status === 0) return;
  process.stdout.write(result.stdout ?? '');
  console.error(`setup: npm ${command} failed in ${directory}`);
  process.exit(result.status ?? 1);
}

function ensureInstalled(directory, label) {
  const command = installNeeded(directory);
  if (command === undefined) return;
  const startMs = performance.now();
  console.log(`setup: installing ${label} (npm ${command})`);
  npm(directory, command);
  console.log(`setup: installed ${label} in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
}

ensureInstalled(root, 'dependencies');
if (process.argv.includes('--programs')) {
  const programs = join(root, 'test/programs');
  for (const name of existsSync(programs) ? readdirSync(programs).sort() : []) {
    if (existsSync(join(programs, name, 'package-lock.json'))) {
      ensureInstalled(join(programs, name), `test program ${name}`);
    }
  }
}
const { buildStale } = await import('./build.mjs');
const built = await buildStale();
if (built.length > 0) console.log(`setup: built ${built.join(', ')}`);

// npm links a workspace's command at install only if the file is there by then; here it is built afterwards.
const command = join(root, 'node_modules/.bin/orangebox');
if (process.platform !== 'win32' && lstatSync(command, { throwIfNoEntry: false }) === undefined) {
  symlinkSync('../../packages/orangebox/dist/cli.mjs', command);
}
