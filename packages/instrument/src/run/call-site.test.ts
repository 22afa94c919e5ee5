import { runInThisContext } from 'node:vm';
import { expect, it } from 'vitest';
import { CallSites } from './call-site.ts';

it('code that was given the name of a file elsewhere has it, and is not disturbed', () => {
  const sites = new CallSites([], import.meta.dirname);
  const below = (): unknown => sites.of(below, 'program')?.at;
  const call = runInThisContext('(below) => below()', { filename: 'file://elsewhere/a.js' }) as (f: unknown) => unknown;
  expect(call(below)).toBe('file://elsewhere/a.js:1:12');
});
