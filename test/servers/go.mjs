// The `go` command of this machine.
import { execFileSync, spawn } from 'node:child_process';

let found;

/** `{version, minor}` of the `go` on the PATH, or undefined. */
export function findGo() {
  found ??= ask();
  return found;
}

function ask() {
  try {
    const version = execFileSync('go', ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return { version, minor: Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0) };
  } catch {
    return undefined;
  }
}

/** Runs `go` with output to the terminal; rejects where it fails. */
export function runGo(cwd, args) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off' };
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`go ${args[0]} ended with ${code}`))));
  });
}
