/** What lies below a working directory: names, kinds and what tells that a file is no longer the same. */
import { type BigIntStats, fstatSync, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_DIRECTORY, type FileState } from '@orangebox/schema';

/** So many files, links and directories are looked at. */
export const MAX_TREE_ENTRIES: number = 20_000;
const MAX_DEPTH = 32;
/** What is installed, what git keeps for itself, and recordings. */
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', '.git', DEFAULT_DIRECTORY]);
/** The one file of git's own that tells a program that there is a repository, and on which branch. */
export const GIT_HEAD = '.git/HEAD';

/** An entry as it lies there. */
export interface SeenEntry extends Pick<FileState, 'type' | 'mode' | 'target'> {
  sizeBytes: number;
  /** Another one, and it may be another file. */
  stamp: string;
}

/** All of them, by path. */
export interface SeenTree {
  entries: Map<string, SeenEntry>;
  /** There are no more than were looked at, and no deeper ones. */
  isWhole: boolean;
  /** The first that was left out, where one was. */
  cutAt?: string;
}

/**
 * Looks. Links are not followed; `without`: absolute paths of directories that do not count. Nor do files that this process' own input
 * and output go to, as with `> out.txt`.
 */
export function seeTree(
  root: string,
  without: readonly string[] = [],
  maxEntries: number = MAX_TREE_ENTRIES,
): SeenTree {
  const tree: SeenTree = { entries: new Map(), isWhole: true };
  const streams = ownStreams();
  const git = seeEntry(join(root, '.git'));
  const head = git?.type === 'directory' ? seeEntry(join(root, GIT_HEAD)) : undefined;
  if (git && head?.type === 'file') tree.entries.set('.git', git).set(GIT_HEAD, head);
  // What lies deepest is left out first.
  let level = [''];
  for (let depth = 0; level.length > 0; depth++) {
    const below: string[] = [];
    for (const prefix of level) {
      for (const name of namesIn(join(root, prefix))) {
        const path = join(root, prefix, name);
        // A name with a backslash is a path on other systems.
        if (PASSED_OVER.has(name) || name.includes('\\') || without.includes(path)) continue;
        const entry = seeEntry(path);
        if (!entry || (streams.size > 0 && streams.has(fileId(() => lstatSync(path))))) continue;
        if (tree.entries.size >= maxEntries || depth > MAX_DEPTH) {
          return { ...tree, isWhole: false, cutAt: `${prefix}${name}` };
        }
        tree.entries.set(`${prefix}${name}`, entry);
        if (entry.type === 'directory') below.push(`${prefix}${name}/`);
      }
    }
    level = below;
  }
  return tree;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    // Not ours to read, or gone.
    return [];
  }
}

/** Whether a look comes to a path before it comes to another: level by level, and in each by name. */
export function isSeenBefore(path: string, other: string): boolean {
  const a = path.split('/');
  const b = other.split('/');
  if (a.length !== b.length) return a.length < b.length;
  const i = a.findIndex((name, at) => name !== b[at]);
  return i >= 0 && (a[i] ?? '') < (b[i] ?? '');
}

/** One entry, by its absolute path. Undefined for what is neither file, link nor directory, or gone. */
export function seeEntry(path: string): SeenEntry | undefined {
  try {
    const stats = lstatSync(path, { bigint: true });
    const mode = Number(stats.mode) & 0o777;
    const base = { mode, sizeBytes: Number(stats.size), stamp: stampOf(stats) };
    if (stats.isFile()) return { type: 'file', ...base };
    // A directory changes with each entry of it; those are looked at themselves.
    if (stats.isDirectory()) return { type: 'directory', mode, sizeBytes: 0, stamp: String(mode) };
    if (stats.isSymbolicLink()) return { type: 'link', target: readlinkSync(path), ...base };
  } catch {
    // Gone meanwhile.
  }
  return undefined;
}

/** The files that standard input, output and error are, if they are any. */
function ownStreams(): Set<string> {
  const ids = [0, 1, 2].map((fd) => fileId(() => fstatSync(fd)));
  return new Set(ids.filter((id) => id !== ''));
}

/** What tells a file from all others; empty for what is none. */
function fileId(stat: () => Stats): string {
  try {
    const stats = stat();
    return stats.isFile() ? `${stats.dev} ${stats.ino}` : '';
  } catch {
    // It is closed, or gone.
    return '';
  }
}

function stampOf({ size, mtimeNs, ctimeNs, ino, mode }: BigIntStats): string {
  return [size, mtimeNs, ctimeNs, ino, mode].join(' ');
}
