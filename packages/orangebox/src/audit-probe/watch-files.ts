/** Files that our code makes, changes and reads, and what its synchronous file calls take. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tell } from './event-log.ts';
import type { Origin } from './origin.ts';
import { base64Of, watch } from './watch.ts';

/** What our file calls took. */
export interface FileCost {
  calls: number;
  ms: number;
}

/** They change what is on the disk; those with two paths name the changed one second. */
const CHANGING = ['mkdir', 'mkdtemp', 'rmdir', 'rm', 'unlink', 'truncate', 'chmod', 'lchmod', 'chown', 'utimes'];
const CHANGING_SECOND = ['rename', 'copyFile', 'cp', 'link', 'symlink'];
const WRITING = ['writeFile', 'appendFile'];
const READING = ['readFile'];
/** Their time is counted where they are ours. */
const TIMED = ['lstatSync', 'statSync', 'statfsSync', 'readdirSync', 'readSync', 'closeSync'];
const ON_DESCRIPTOR = ['writeSync', 'writevSync', 'fsyncSync', 'fdatasyncSync'];

/** Watches `fs` and `fs/promises`. */
export function watchFiles(origin: () => Origin, tell: Tell, cost: FileCost): void {
  const fs = process.getBuiltinModule('node:fs');
  const now = performance.now.bind(performance);
  const ownDescriptors = new Set<unknown>();
  const timed = (call: () => unknown): unknown => {
    const startMs = now();
    try {
      return call();
    } finally {
      cost.calls += 1;
      cost.ms += now() - startMs;
    }
  };
  const note = (op: string, path: unknown, data?: unknown): void => {
    const text = pathText(path);
    if (text !== undefined)
      tell({ t: 'file', op, path: text, ...(data === undefined ? {} : { data: base64Of(data) }) });
  };
  for (const target of [fs, fs.promises]) {
    const forms = (names: readonly string[]): string[] => names.flatMap((name) => [name, `${name}Sync`]);
    const each = (names: readonly string[], told: (name: string, args: unknown[]) => void): void => {
      for (const name of forms(names)) {
        watch(target, name, (args, call) => {
          if (origin() !== 'ours') return call();
          told(name, args);
          return name.endsWith('Sync') ? timed(call) : call();
        });
      }
    };
    each(CHANGING, (name, args) => note(name, args[0]));
    each(CHANGING_SECOND, (name, args) => note(name, args[1]));
    each(WRITING, (name, args) => note(name, args[0], args[1]));
    each(READING, (_name, args) => told(args[0]));
    each(['open'], (name, args) => {
      if (changes(args[1])) note(name, args[0]);
      else told(args[0]);
    });
  }
  const told = (path: unknown): void => {
    const text = pathText(path);
    if (text !== undefined) tell({ t: 'read', path: text });
  };
  watch(fs, 'openSync', (args, call) => {
    const fd = call();
    if (origin() === 'ours') ownDescriptors.add(fd);
    return fd;
  });
  watch(fs, 'closeSync', (args, call) => {
    ownDescriptors.delete(args[0]);
    return call();
  });
  watch(fs, 'createWriteStream', (args, call) => {
    if (origin() === 'ours') note('createWriteStream', args[0]);
    return call();
  });
  for (const name of TIMED) watch(fs, name, (_args, call) => (origin() === 'ours' ? timed(call) : call()));
  // The hot ones: a stack for each write of the program would be felt.
  for (const name of ON_DESCRIPTOR)
    watch(fs, name, (args, call) => (ownDescriptors.has(args[0]) ? timed(call) : call()));
}

function pathText(path: unknown): string | undefined {
  if (typeof path === 'string') return resolve(path);
  if (path instanceof URL) return fileURLToPath(path);
  return Buffer.isBuffer(path) ? resolve(path.toString()) : undefined;
}

const CHANGE_BITS = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000;

function changes(flags: unknown): boolean {
  if (typeof flags === 'number') return (flags & CHANGE_BITS) !== 0;
  return typeof flags === 'string' && /[wa+]/.test(flags);
}
