import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileState } from '@orangebox/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppliedFiles } from './applied-files.ts';
import { type FilePlace, placeFile, removeFile } from './place-files.ts';
import { recordedFiles } from './recorded-files.ts';

let base: string;
let root: string;
let place: FilePlace;
const contents = new Map<string, Buffer>();
const hashOf = (content: string): string => {
  const sha256 = createHash('sha256').update(content).digest('hex');
  contents.set(sha256, Buffer.from(content));
  return sha256;
};
const file = (path: string, content: string, mode = 0o644): FileState => ({
  path,
  type: 'file',
  mode,
  sha256: hashOf(content),
});
const link = (path: string, target: string): FileState => ({ path, type: 'link', mode: 0o777, target });
const text = (path: string): string => readFileSync(join(root, path), 'utf8');

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'obx-place-'));
  root = join(base, 'copy');
  mkdirSync(root);
  mkdirSync(join(base, 'outside'));
  writeFileSync(join(base, 'outside', 'kept.txt'), 'kept');
  place = { root, recordedRoot: '/recorded', read: (sha256) => contents.get(sha256) };
});
afterEach(() => rmSync(base, { recursive: true, force: true }));
const outside = (): string[] =>
  readdirSync(join(base, 'outside')).map((name) => readFileSync(join(base, 'outside', name), 'utf8'));

describe('files are placed', () => {
  it('with what they hold and who may do what, and directories on the way', () => {
    expect(placeFile(place, file('a/b/c.sh', 'echo', 0o755))).toBe(true);
    expect(text('a/b/c.sh')).toBe('echo');
    expect(lstatSync(join(root, 'a/b/c.sh')).mode & 0o777).toBe(0o755);
    expect(placeFile(place, file('a/b/c.sh', 'other', 0o400))).toBe(true);
    expect(text('a/b/c.sh')).toBe('other');
    expect(readdirSync(join(root, 'a/b'))).toEqual(['c.sh']);
  });

  it('over a link, which is not followed', () => {
    symlinkSync(join(base, 'outside', 'kept.txt'), join(root, 'a.txt'));
    expect(placeFile(place, file('a.txt', 'new'))).toBe(true);
    expect(lstatSync(join(root, 'a.txt')).isFile()).toBe(true);
    expect(outside()).toEqual(['kept']);
  });

  it('nowhere behind a link', () => {
    symlinkSync(join(base, 'outside'), join(root, 'out'));
    for (const path of ['out/new.txt', 'out/kept.txt', 'out/a/b.txt']) {
      expect(placeFile(place, file(path, 'new'))).toBe(false);
      expect(removeFile(place, file(path, 'new'))).toBe(true);
    }
    expect(placeFile(place, { path: 'out/dir', type: 'directory', mode: 0o755 })).toBe(false);
    expect(outside()).toEqual(['kept']);
    expect(removeFile(place, link('out', 'x'))).toBe(true);
    expect(existsSync(join(root, 'out'))).toBe(false);
    expect(outside()).toEqual(['kept']);
  });

  it.each([
    '../x',
    'a/../../x',
    '/x',
    'a//b',
    './a',
    'a/',
    'a\\..\\..\\x',
    'C:x',
    '.git/config',
    '.Git/HEAD',
    'a/.git/HEAD',
    'GIT~1/config',
    'node_modules/a',
    'a\0',
    '',
  ])('not where the path is %j', (path) => {
    expect(placeFile(place, file(path, 'x'))).toBe(false);
    expect(removeFile(place, file(path, 'x'))).toBe(false);
    expect(readdirSync(base).sort()).toEqual(['copy', 'outside']);
    expect(readdirSync(root)).toEqual([]);
  });

  it('of git only with the name of a branch or a commit', () => {
    expect(placeFile(place, file('.git/HEAD', 'ref: refs/heads/main\n'))).toBe(true);
    expect(placeFile(place, file('.git/HEAD', 'a'.repeat(40)))).toBe(true);
    expect(placeFile(place, file('.git/HEAD', '[core]\n\tfsmonitor = evil\n'))).toBe(false);
    expect(text('.git/HEAD')).toBe('a'.repeat(40));
  });
});

describe('links are made', () => {
  it('to what lies inside, also where the target is the whole path on record', () => {
    expect(placeFile(place, file('a.txt', 'alpha'))).toBe(true);
    expect(placeFile(place, link('b/link', '../a.txt'))).toBe(true);
    expect(text('b/link')).toBe('alpha');
    expect(placeFile(place, link('whole', '/recorded/a.txt'))).toBe(true);
    expect(readlinkSync(join(root, 'whole'))).toBe(join(root, 'a.txt'));
  });

  it.each([
    '..',
    '../outside',
    '/etc/passwd',
    '/recorded/../etc',
    'a/../../outside',
    './../outside',
    'self/../../outside',
    'd/up/../../outside',
    'node_modules/x',
    'a\\b',
  ])('not to %j', (target) => {
    expect(placeFile(place, link('self', '.'))).toBe(true);
    expect(placeFile(place, link('d/up', '..'))).toBe(true);
    expect(placeFile(place, link('evil', target))).toBe(false);
    expect(readdirSync(root)).toEqual(['d', 'self']);
  });
});

describe('what child processes changed', () => {
  it('is changed at the end of each, once, what it took away first', () => {
    const applied = new AppliedFiles(place, [
      { type: 'filesChanged', changes: [{ kind: 'created', file: file('by-program.txt', 'x') }] },
      {
        type: 'filesChanged',
        child: 5,
        changes: [
          { kind: 'deleted', file: { path: 'a', type: 'directory', mode: 0o755 } },
          { kind: 'deleted', file: file('a/b.txt', '') },
          { kind: 'created', file: file('a', 'now a file') },
        ],
      },
      {
        type: 'filesChanged',
        child: 9,
        changes: [{ kind: 'changed', file: { ...file('c', ''), sha256: '0'.repeat(64) } }],
      },
    ]);
    mkdirSync(join(root, 'a'));
    writeFileSync(join(root, 'a', 'b.txt'), 'b');
    applied.childEnded(4);
    expect(readdirSync(root)).toEqual(['a']);
    applied.childEnded(5);
    expect(text('a')).toBe('now a file');
    writeFileSync(join(root, 'a'), 'the program went on');
    applied.childEnded(5);
    expect(text('a')).toBe('the program went on');
    expect(readdirSync(root)).toEqual(['a']);
    expect(applied.notApplied).toEqual([]);
    applied.childEnded(9);
    expect(applied.notApplied).toEqual(['c']);
  });

  it('and the program is undone to begin with: of each file what was there before counts, and at the end what was left', () => {
    const { before, after } = recordedFiles(
      [{ type: 'runFiles', files: [file('a', '1'), file('b', '1'), file('c', '1')] }],
      [
        {
          type: 'filesChanged',
          changes: [
            { kind: 'changed', file: file('a', '2') },
            { kind: 'created', file: file('d', '2') },
          ],
        },
        {
          type: 'filesChanged',
          child: 1,
          changes: [
            { kind: 'changed', file: file('a', '3') },
            { kind: 'deleted', file: file('b', '') },
          ],
        },
      ],
    );
    expect([...before].map(([path, state]) => [path, state?.sha256])).toEqual([
      ['a', hashOf('1')],
      ['d', undefined],
      ['b', hashOf('1')],
    ]);
    expect([...after].map(([path, state]) => [path, state?.sha256])).toEqual([
      ['a', hashOf('3')],
      ['d', hashOf('2')],
      ['b', undefined],
    ]);
  });
});
