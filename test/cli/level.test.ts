/** `orangebox level`: what programs that run are told by a file in their directory. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cli, type CliResult } from './spawn.ts';

let cwd = '';
let box = '';

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-level-'));
  box = join(cwd, '.orangebox');
  mkdirSync(box);
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const level = (...args: string[]): CliResult => cli(['level', ...args], { cwd });

it('writes the word in one step, shows who decides, and takes it back', () => {
  expect(level().stdout).toMatch(/each program's own ORANGEBOX_LEVEL decides.*full/);
  expect(level('Errors')).toMatchObject({ code: 0, stdout: `errors, as ${join(box, 'level')} says\n` });
  expect(readFileSync(join(box, 'level'), 'utf8')).toBe('errors\n');
  expect(readdirSync(box)).toEqual(['level']);
  expect(level('off').stdout).toMatch(/^off, /);
  expect(JSON.parse(level('--json').stdout)).toEqual({ level: 'off', decidedBy: 'file', file: join(box, 'level') });
  expect(level('--clear')).toMatchObject({ code: 0, stdout: expect.stringContaining('ORANGEBOX_LEVEL decides') });
  expect(readdirSync(box)).toEqual([]);
  expect(JSON.parse(level('--json').stdout)).toMatchObject({ level: null, decidedBy: 'environment' });
});

it('makes a directory that is named but not there yet', () => {
  const dir = join(cwd, 'other/box');
  expect(cli(['level', 'metadata'], { cwd, env: { ORANGEBOX_DIR: dir } }).code).toBe(0);
  expect(readFileSync(join(dir, 'level'), 'utf8')).toBe('metadata\n');
});

it('refuses what is no level, and says what a file holds that no program follows', () => {
  expect(level('verbose')).toMatchObject({ code: 2, stderr: expect.stringContaining('full, metadata, errors, off') });
  expect(level('full', '--clear').code).toBe(2);
  writeFileSync(join(box, 'level'), 'everything\n');
  expect(level()).toMatchObject({ code: 2, stderr: expect.stringContaining('no program follows it') });
  rmSync(box, { recursive: true });
  expect(level('off')).toMatchObject({ code: 3, stderr: expect.stringContaining('no recordings in') });
});
