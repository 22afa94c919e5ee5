/** What the options of a child process say: what really runs, and where its output goes. */
import { basename, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The two outputs of a process. */
export type OutputName = 'stdout' | 'stderr';

/** Both, with their descriptors. */
export const OUTPUTS: readonly (readonly [fd: 1 | 2, name: OutputName])[] = [
  [1, 'stdout'],
  [2, 'stderr'],
];

/** The kinds of descriptors that the platform knows by name. */
const KINDS: ReadonlySet<string> = new Set(['pipe', 'overlapped', 'ignore', 'inherit', 'ipc']);

/** Base name of the executable and its arguments, as the platform makes them of what is asked for. */
export function whatRuns(file: string, args: readonly string[], shell: unknown): { file: string; argv: string[] } {
  if (!shell) return { file: basename(file), argv: [...args] };
  const command = [file, ...args].join(' ');
  if (process.platform !== 'win32') {
    const usual = process.platform === 'android' ? '/system/bin/sh' : '/bin/sh';
    return { file: basename(typeof shell === 'string' ? shell : usual), argv: ['-c', command] };
  }
  const own = typeof shell === 'string' ? shell : (process.env['comspec'] ?? 'cmd.exe');
  const isCmd = /^(?:.*\\)?cmd(?:\.exe)?$/i.test(own);
  return { file: basename(own), argv: isCmd ? ['/d', '/s', '/c', `"${command}"`] : ['-c', command] };
}

/** The working directory of a child, relative to the one of the start; empty for itself. */
export function cwdOf(cwd: unknown, base: string): string {
  if (cwd instanceof URL) return relative(base, resolve(base, fileURLToPath(cwd)));
  const path = cwd instanceof Uint8Array ? Buffer.from(cwd).toString() : cwd;
  return relative(base, resolve(base, typeof path === 'string' ? path : '.'));
}

/** An entry for each descriptor, at least three; undefined where the platform is sure to refuse it. */
export function stdioOf(stdio: unknown): unknown[] | undefined {
  const given = stdio || 'pipe';
  if (typeof given !== 'string' && !Array.isArray(given)) return undefined;
  const list: unknown[] = typeof given === 'string' ? [given, given, given] : [...(given as unknown[])];
  while (list.length < 3) list.push(undefined);
  if (list.some((entry) => typeof entry === 'string' && !KINDS.has(entry))) return undefined;
  return list.map((entry, fd) => entry ?? (fd < 3 ? 'pipe' : 'ignore'));
}

/** Whether an output of the child is the same one of the program. */
export function isInherited(entry: unknown, fd: 1 | 2): boolean {
  return descriptorOf(entry, fd) === fd;
}

/** Whether what a child writes there comes out of the program's standard output or error. */
export function isProgramsOwn(entry: unknown, fd: 1 | 2): boolean {
  const target = descriptorOf(entry, fd);
  return target === 1 || target === 2;
}

/** Whether the program gets a stream of it. */
export function isPipe(entry: unknown): boolean {
  return entry === 'pipe' || entry === 'overlapped';
}

function descriptorOf(entry: unknown, fd: number): unknown {
  if (entry === 'inherit') return fd;
  return typeof entry === 'object' && entry !== null ? (entry as { fd?: unknown }).fd : entry;
}
