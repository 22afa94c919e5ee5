import * as nodeFs from 'node:fs';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LevelControl } from './level-control.ts';
import { createReporter } from './report.ts';
import type { SegmentFs } from './segment-directory.ts';

let dir = '';
let warnings: string[] = [];
let file = '';

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orangebox-level-'));
  file = join(dir, 'level');
  warnings = [];
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(dir, { recursive: true, force: true });
});

const control = (fs: SegmentFs = nodeFs): LevelControl =>
  new LevelControl({ level: 'full', dir, fs, reporter: createReporter((line) => warnings.push(line)) });

/** As `orangebox level` does. */
function say(word: string): void {
  writeFileSync(`${file}.new`, word);
  renameSync(`${file}.new`, file);
}

const later = (): void => void vi.setSystemTime(Date.now() + 1000);

it('follows whoever spoke last: environment, file, program, file, removal', () => {
  const levels = control();
  expect(levels.level).toBe('full');
  say('errors\n');
  later();
  expect(levels.level).toBe('errors');
  levels.set('metadata');
  expect(levels.level).toBe('metadata');
  later();
  expect(levels.level).toBe('metadata');
  say('OFF');
  later();
  expect(levels.level).toBe('off');
  rmSync(file);
  later();
  expect(levels.level).toBe('full');
  expect(warnings).toEqual([]);
});

it('follows a file that was there first, until the program speaks', () => {
  say('errors');
  expect(control().level).toBe('errors');
  const other = control();
  other.set('metadata');
  later();
  expect(other.level).toBe('metadata');
});

it('looks at most once a second, also after the clock was set back', () => {
  const looked = vi.fn(nodeFs.lstatSync);
  const levels = control({ ...nodeFs, lstatSync: looked as unknown as typeof nodeFs.lstatSync });
  for (let i = 0; i < 100; i++) expect(levels.level).toBe('full');
  expect(looked).toHaveBeenCalledTimes(1);
  say('errors');
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(levels.level).toBe('errors');
});

it.each([
  ['another word', () => say('verbose'), 'says none of full, metadata, errors, off'],
  ['a long file', () => say(`full${' '.repeat(100)}`), 'says none of'],
  ['a directory', () => mkdirSync(file), 'no file of this user'],
  [
    'a link',
    () => {
      writeFileSync(join(dir, 'target'), 'off');
      symlinkSync(join(dir, 'target'), file);
    },
    'no file of this user',
  ],
])('stays as it was with %s, and says so once', (_name, make, message) => {
  const levels = control();
  levels.set('metadata');
  make();
  for (let i = 0; i < 3; i++) {
    later();
    expect(levels.level).toBe('metadata');
  }
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(message);
});

it("does not follow another user's file", () => {
  say('off');
  const foreign = ((path: string) => {
    const stat = nodeFs.lstatSync(path);
    return Object.assign(Object.create(stat) as nodeFs.Stats, { uid: stat.uid + 1 });
  }) as unknown as typeof nodeFs.lstatSync;
  expect(control({ ...nodeFs, lstatSync: foreign }).level).toBe('full');
  expect(warnings).toHaveLength(1);
});

it('says nothing where it may not look', () => {
  const refused = (() => {
    throw Object.assign(new Error('denied'), { code: 'ERR_ACCESS_DENIED' });
  }) as unknown as typeof nodeFs.lstatSync;
  expect(control({ ...nodeFs, lstatSync: refused }).level).toBe('full');
  expect(warnings).toEqual([]);
});
