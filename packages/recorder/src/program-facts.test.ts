import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gitRevision, packageVersions } from './program-facts.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'orangebox-facts-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

describe('the git revision', () => {
  test('is the commit that is checked out, on a branch, packed, detached, and in a work tree', () => {
    const repo = join(base, 'repo');
    mkdirSync(join(repo, 'src/deep'), { recursive: true });
    git(repo, 'init', '-q');
    git(repo, 'commit', '-q', '--allow-empty', '-m', 'one');
    const revision = git(repo, 'rev-parse', 'HEAD');
    expect(gitRevision(join(repo, 'src/deep'))).toBe(revision);
    git(repo, 'pack-refs', '--all');
    expect(gitRevision(repo)).toBe(revision);
    git(repo, 'worktree', 'add', '-q', '-b', 'other', join(base, 'tree'));
    expect(gitRevision(join(base, 'tree'))).toBe(revision);
    git(repo, 'checkout', '-q', '--detach');
    expect(gitRevision(repo)).toBe(revision);
  });

  test('is left out where a file says something else', () => {
    mkdirSync(join(base, '.git'));
    writeFileSync(join(base, '.git/HEAD'), 'ref: refs/../../secret');
    expect(gitRevision(base)).toBeUndefined();
    writeFileSync(join(base, '.git/HEAD'), 'no commit');
    expect(gitRevision(base)).toBeUndefined();
  });
});

test('versions of model clients are those that the program would find, the nearest first', () => {
  const inner = join(base, 'app/src');
  mkdirSync(inner, { recursive: true });
  for (const [at, name, version] of [
    ['.', 'openai', '4.0.0'],
    ['app', 'openai', '6.1.2'],
    ['.', '@langchain/core', '1.0.0'],
    ['.', 'left-pad', '1.0.0'],
    ['.', 'ai', 'not a version\u001b'],
  ] as const) {
    const directory = join(base, at, 'node_modules', name);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'package.json'), JSON.stringify({ name, version }));
  }
  expect(packageVersions(inner)).toEqual({ openai: '6.1.2', '@langchain/core': '1.0.0' });
});
