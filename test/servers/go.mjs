// The `go` command of this machine.
import { execFileSync, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

let found;

/** `{command, version, minor}` of the first `go` that runs, or undefined. */
export function findGo() {
  found ??= ['go', '/usr/local/go/bin/go', join(homedir(), 'go/bin/go')].map(ask).find((go) => go !== undefined);
  return found;
}

function ask(command) {
  try {
    const version = execFileSync(command, ['version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    return { command, version, minor: Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0) };
  } catch {
    return undefined;
  }
}

/** Runs `go` with output to the terminal; rejects where it fails. */
export function runGo(cwd, args) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off' };
    const child = spawn(findGo().command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`go ${args[0]} ended with ${code}`))));
  });
}
