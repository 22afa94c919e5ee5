/** Starts programs under the built preload, with an environment of their own. */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Absolute path of the built preload. */
export const registerPath = join(root, 'packages/orangebox/dist/register.cjs');

/** The environment that a program gets: what Node needs, nothing of the caller's keys or settings. */
export function plainEnvironment(extra = {}) {
  const { PATH, HOME, TMPDIR, TZ } = process.env;
  return Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, TZ, ...extra }).filter(([, v]) => v !== undefined));
}

/**
 * Runs a Node program to its end.
 * @param preload false runs it without Orangebox
 * @returns `{code, signal, stdout, stderr, milliseconds}`
 */
export function runProgram(
  script,
  args,
  { preload = true, node = process.execPath, env = {}, cwd, nodeArgs = [] } = {},
) {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(node, [...(preload ? ['--require', registerPath] : []), ...nodeArgs, script, ...args], {
      cwd,
      env: plainEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({ code, signal, stdout, stderr, milliseconds: performance.now() - startMs }),
    );
  });
}
