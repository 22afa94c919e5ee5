/** Starts processes under the probe and waits for their end. */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { createRequire } from 'node:module';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Runs a command. Rejects where it cannot be started. */
export function runProcess(
  file: string,
  words: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd: string; stdio: StdioOptions; timeoutMs?: number },
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const { env, cwd, stdio, timeoutMs } = options;
  const child = spawn(file, words, { env, cwd, stdio, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) });
  onStart(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** Directories of all code of ours that a program may load, links resolved. */
export function ownDirectories(register: string): string[] {
  const require = createRequire(register);
  const dirs = [dirname(realpathSync(register))];
  for (const name of ['recorder', 'instrument', 'codec', 'schema', 'store', 'replay', 'server']) {
    try {
      dirs.push(dirname(realpathSync(require.resolve(`@orangebox/${name}`))));
    } catch {
      // Not installed beside it: then it is not loaded either.
    }
  }
  return dirs;
}

/** A file of the audit that stands beside `register.cjs`. */
export function auditFile(register: string, name: 'probe' | 'seeds'): string {
  return join(dirname(register), `audit-${name}.cjs`);
}
