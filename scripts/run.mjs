/** Runs programs for the scripts beside it, with their output kept until it is known whether anybody needs to see it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build-configs.mjs';

/** Runs a program; settles with its exit code, output and duration. Never rejects. */
export function run(command, args, options = {}) {
  const startMs = performance.now();
  const local = join(root, 'node_modules/.bin', command);
  return new Promise((resolve) => {
    const child = spawn(existsSync(local) ? local : command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    });
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout?.setEncoding('utf8').on('data', keep);
    child.stderr?.setEncoding('utf8').on('data', keep);
    const done = (code) => resolve({ code, output, seconds: (performance.now() - startMs) / 1000 });
    child.on('error', (error) => {
      output += String(error);
      done(127);
    });
    child.on('close', (code, signal) => done(code ?? (signal ? 128 : 1)));
  });
}
