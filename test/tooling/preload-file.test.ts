/** The preload is in every process of its users, so its file stays small and stands alone. */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';

const register = inRepository('packages/orangebox/dist/register.cjs');

/** Bytes that the preload may have, comments included. Raise it only with a reason in the commit. */
const budgetBytes = 120 * 1024;

describe('register.cjs', () => {
  it('stays within its size budget', () => {
    expect(statSync(register).size).toBeLessThan(budgetBytes);
  });

  it('names no module but Node.js ones and, for later, the recorder and what run mode takes', () => {
    const source = readFileSync(register, 'utf8');
    const names = [...source.matchAll(/\b(?:require|import)\(\s*["']([^"']+)["']\s*\)/g)].map((m) => m[1] ?? '');
    const others = names.filter((name) => !name.startsWith('node:') && !isBuiltIn(name));
    const later = ['@orangebox/recorder', '@orangebox/instrument/run'];
    expect([...new Set(others)].filter((name) => !later.includes(name))).toEqual([]);
  });

  it('loads no other file at the start of a program', () => {
    const script = 'process.stdout.write(JSON.stringify(Object.keys(require.cache)))';
    const result = spawnSync(process.execPath, ['--require', register, '--eval', script], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });
    expect(result.stderr).toBe('');
    expect(JSON.parse(result.stdout)).toEqual([register]);
  });
});

it('the core of the recorder, which loads before the first answer, brings no other package along', () => {
  const core = inRepository('packages/recorder/dist/index.cjs');
  const script = `require(${JSON.stringify(core)}); process.stdout.write(JSON.stringify(Object.keys(require.cache)))`;
  const { stdout } = spawnSync(process.execPath, ['--eval', script], { encoding: 'utf8' });
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded).toContain(core);
  expect(loaded.filter((file) => file.includes('node_modules'))).toEqual([]);
});

function isBuiltIn(name: string): boolean {
  return process.getBuiltinModule(name) !== undefined;
}
