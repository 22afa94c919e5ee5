/** What the files around a program say of it: versions of the model clients it has installed, and its git revision. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Packages whose version helps to understand a recorded call. */
const TOLD_PACKAGES = [
  'openai',
  '@openai/agents',
  '@anthropic-ai/sdk',
  '@google/genai',
  'ai',
  '@langchain/core',
  '@langchain/langgraph',
  'undici',
];
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_LEVELS = 24;
const REVISION = /^[0-9a-f]{40,64}$/;
const VERSION = /^[0-9A-Za-z.+-]{1,64}$/;

/** The directory of the program's main file, or the working directory; undefined where neither is to be had. */
export function programDirectory(): string | undefined {
  try {
    const main = process.argv[1];
    return main === undefined ? process.cwd() : dirname(resolve(main));
  } catch {
    return undefined;
  }
}

/** Versions of the known model clients that a program in `directory` finds, by name. */
export function packageVersions(directory: string): { [name: string]: string } {
  const versions: { [name: string]: string } = {};
  const roots = ancestors(directory)
    .map((at) => join(at, 'node_modules'))
    .filter(isThere);
  for (const name of TOLD_PACKAGES) {
    for (const root of roots) {
      const text = smallText(join(root, name, 'package.json'));
      const version = text === undefined ? undefined : /"version"\s*:\s*"([^"]*)"/.exec(text)?.[1];
      if (version === undefined || !VERSION.test(version)) continue;
      versions[name] = version;
      break;
    }
  }
  return versions;
}

/**
 * The commit that is checked out where `directory` lies; undefined outside a repository.
 * @see https://git-scm.com/docs/gitrepository-layout
 */
export function gitRevision(directory: string): string | undefined {
  for (const at of ancestors(directory)) {
    const git = join(at, '.git');
    if (!isThere(git)) continue;
    // A work tree or submodule has a file that names the directory.
    const elsewhere = /^gitdir: (.+)/.exec(smallText(git) ?? '')?.[1]?.trim();
    const own = elsewhere === undefined ? git : resolve(at, elsewhere);
    const shared = smallText(join(own, 'commondir'))?.trim();
    const head = smallText(join(own, 'HEAD'))?.trim() ?? '';
    const ref = /^ref: (refs\/[^\s]+)$/.exec(head)?.[1];
    const revision = ref === undefined ? head : refRevision(ref, [own, ...(shared ? [resolve(own, shared)] : [])]);
    return revision !== undefined && REVISION.test(revision) ? revision : undefined;
  }
  return undefined;
}

function refRevision(ref: string, directories: string[]): string | undefined {
  if (ref.includes('..')) return undefined;
  for (const directory of directories) {
    const loose = smallText(join(directory, ref))?.trim();
    if (loose) return loose;
    const packed = smallText(join(directory, 'packed-refs'))
      ?.split('\n')
      .find((line) => line.endsWith(` ${ref}`));
    if (packed) return packed.slice(0, packed.indexOf(' '));
  }
  return undefined;
}

function ancestors(directory: string): string[] {
  const all = [directory];
  for (let at = dirname(directory); at !== all.at(-1) && all.length < MAX_LEVELS; at = dirname(at)) all.push(at);
  return all;
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function smallText(path: string): string | undefined {
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    return facts?.isFile() && facts.size <= MAX_FILE_BYTES ? readFileSync(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
