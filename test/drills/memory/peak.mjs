/** Runs programs and looks at their memory from outside. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { plainEnvironment, registerPath } from '../../corpus/spawn.mjs';

const LOOK_EVERY_MS = 20;

/** Resident memory of a process at its highest so far (`VmHWM`), in bytes; 0 when it has gone. */
export function peakRssBytes(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/**
 * Runs a Node program to its end.
 * @returns `{code, stdout, stderr, seconds, peakBytes}`
 */
export function runWatched(script, args, { preload, env = {}, nodeArgs = [] }) {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [...nodeArgs, ...(preload ? ['--require', registerPath] : []), script, ...args],
      {
        env: plainEnvironment(env),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let peakBytes = 0;
    const watch = setInterval(() => {
      peakBytes = Math.max(peakBytes, peakRssBytes(child.pid));
    }, LOOK_EVERY_MS);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(watch);
      resolve({ code, stdout, stderr, seconds: (performance.now() - startMs) / 1000, peakBytes });
    });
  });
}
