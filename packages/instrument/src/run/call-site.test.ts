import { runInThisContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { CallSites } from './call-site.ts';

it('code that was given the name of a file elsewhere has it, and is not disturbed', () => {
  const sites = new CallSites([], import.meta.dirname);
  const below = (): unknown => sites.of(below, 'program')?.at;
  const call = runInThisContext('(below) => below()', { filename: 'file://elsewhere/a.js' }) as (f: unknown) => unknown;
  expect(call(below)).toBe('file://elsewhere/a.js:1:12');
});

it('files of its own are told by their path and by their address', () => {
  const sites = new CallSites(['/srv/orangebox/dist/'], '/srv/app');
  const below = (): unknown => sites.of(below, 'program_and_platform')?.at;
  const callOf = (filename: string): unknown =>
    (runInThisContext('(below) => below()', { filename }) as (f: unknown) => unknown)(below);
  expect(callOf('/srv/orangebox/dist/index.cjs')).toBeUndefined();
  expect(callOf('file:///srv/orangebox/dist/index.mjs')).toBeUndefined();
  expect(callOf('file:///srv/app/agent.mjs')).toBe('agent.mjs:1:12');
});

describe('what an error is, to the program', () => {
  const own = Object.getOwnPropertyDescriptors(Error);
  afterEach(() => void Object.defineProperties(Error, own));
  const asked = (): string | undefined => {
    const sites = new CallSites([], '/nowhere');
    const below = (): string | undefined => sites.of(below, 'program')?.at;
    return below();
  };

  it.each(['stackTraceLimit', 'prepareStackTrace'] as const)('may be frozen in its %s', (name) => {
    Object.defineProperty(Error, name, { value: Error[name], writable: false, configurable: true });
    expect(asked()).toBe('native');
    expect(Error.stackTraceLimit).toBe(own.stackTraceLimit.value);
  });

  it('has no more afterwards than before', () => {
    Reflect.deleteProperty(Error, 'prepareStackTrace');
    Reflect.deleteProperty(Error, 'stackTraceLimit');
    expect(asked()).toMatch(/:\d+:\d+$/);
    expect(Object.hasOwn(Error, 'prepareStackTrace')).toBe(false);
    expect(Object.hasOwn(Error, 'stackTraceLimit')).toBe(false);
  });
});
