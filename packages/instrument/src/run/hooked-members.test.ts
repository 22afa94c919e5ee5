/** What stands in the place of the platform's functions looks like them. */
import { exec, execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { CallSites } from './call-site.ts';
import { countConnections } from './connections.ts';
import { hookPlatform } from './hook-platform.ts';
import type { Undo } from './ports.ts';
import { undoAll } from './replace.ts';

let undo: Undo = () => {};
afterEach(() => undo());

function hook(): void {
  undo = undoAll([
    hookPlatform({
      sites: new CallSites([], import.meta.dirname),
      draws: { draw: (_source, _at, real) => real() },
      timers: { make: (request) => request.real(request.callback), clear: () => {} },
      children: { spawn: (_child, _start, real) => real(), runSync: (_start, real) => real() },
      runId: 'run-0',
    }),
    countConnections(
      () => false,
      () => false,
      { touched: () => undefined, isGiven: () => false, isUnreached: () => false, notReplayable: () => false },
    ).undo,
  ]);
}

const module = (name: string): object => (process.getBuiltinModule as (id: string) => object)(name);
const prototypeOf = (value: unknown): object => Object.getPrototypeOf(value) as object;
const holders: { [name: string]: () => object } = {
  globalThis: () => globalThis,
  Date: () => Date,
  'Date.prototype': () => Date.prototype,
  Math: () => Math,
  performance: () => prototypeOf(performance),
  process: () => process,
  'process.hrtime': () => process.hrtime,
  'Intl.DateTimeFormat': () => Intl.DateTimeFormat.prototype,
  AbortSignal: () => AbortSignal,
  os: () => module('node:os'),
  crypto: () => module('node:crypto'),
  webcrypto: () => prototypeOf(globalThis.crypto),
  timers: () => module('node:timers'),
  'timers/promises': () => module('node:timers/promises'),
  scheduler: () => prototypeOf((module('node:timers/promises') as { scheduler: object }).scheduler),
  child_process: () => module('node:child_process'),
  ChildProcess: () => (module('node:child_process') as { ChildProcess: { prototype: object } }).ChildProcess.prototype,
  'net.Socket': () => (module('node:net') as { Socket: { prototype: object } }).Socket.prototype,
  'dgram.Socket': () => (module('node:dgram') as { Socket: { prototype: object } }).Socket.prototype,
};

type Seen = { [key: string]: unknown };

/** A member with its flags; of a function its own members too. */
function seen(holder: object, key: string | symbol, depth: number): Seen {
  const { get, set, value, ...flags } = Object.getOwnPropertyDescriptor(holder, key) ?? {};
  const functions = Object.entries({ get, set, value: value as unknown }).filter(
    ([, one]) => typeof one === 'function',
  );
  return {
    ...flags,
    ...Object.fromEntries(
      functions.map(([name, one]) => [name, depth === 0 ? typeof one : membersOf(one as object, depth - 1)]),
    ),
    ...(typeof value === 'function' || get ? {} : { value: typeof value }),
  };
}

const numbers = new Map<unknown, number>();

/** The same number for the same object. */
function numberOf(value: unknown): number {
  const number = numbers.get(value) ?? numbers.size;
  numbers.set(value, number);
  return number;
}

function membersOf(holder: object, depth: number): Seen {
  const keys = Reflect.ownKeys(holder).sort((a, b) => (String(a) < String(b) ? -1 : 1));
  const all = keys.map((key): [string, unknown] => {
    const own = Object.getOwnPropertyDescriptor(holder, key) ?? {};
    if (key === 'prototype') return [key, { ...own, value: numberOf(own.value) }];
    return [String(key), key === 'name' || key === 'length' ? own : seen(holder, key, depth)];
  });
  return Object.fromEntries(all);
}

describe('what the hooks put in place of the platform', () => {
  it.each(Object.keys(holders))('has the names, lengths and own members of %s', (name) => {
    // The platform makes some of its globals when they are asked for.
    void [AbortSignal, crypto, performance, globalThis.fetch.name, globalThis.WebSocket?.name];
    const holder = holders[name] as () => object;
    const before = membersOf(holder(), 2);
    hook();
    // What is another number in each process has to be a getter.
    const { pid, ppid } = before;
    expect({ ...membersOf(holder(), 2), ...(name === 'process' ? { pid, ppid } : {}) }).toEqual(before);
  });

  it('is another one, and gone afterwards, also where it was taken from a function before', () => {
    const { hrtime } = process;
    const of = (): unknown[] => [
      Math.random,
      hrtime.bigint,
      process.hrtime,
      process.hrtime.bigint,
      setTimeout,
      (module('node:child_process') as { execSync: unknown }).execSync,
      Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format')?.get,
    ];
    const before = of();
    hook();
    of().forEach((one, i) => expect(one).not.toBe(before[i]));
    undo();
    undo = () => {};
    of().forEach((one, i) => expect(one).toBe(before[i]));
  });

  it('gives the function of a formatter the name and length that it has', () => {
    const { name, length } = new Intl.DateTimeFormat('en').format;
    hook();
    const formatter = new Intl.DateTimeFormat('en');
    expect([formatter.format.name, formatter.format.length]).toEqual([name, length]);
    expect(formatter.format).toBe(formatter.format);
  });

  it('leaves promises of commands with their output and their process', async () => {
    hook();
    const running = promisify(exec)('echo shell');
    expect(running.child.pid).toBeGreaterThan(0);
    expect(await running).toEqual({ stdout: 'shell\n', stderr: '' });
    expect(await promisify(execFile)('echo', ['file'])).toEqual({ stdout: 'file\n', stderr: '' });
    await expect(promisify(execFile)('sh', ['-c', 'echo bad >&2; exit 3'])).rejects.toMatchObject({
      code: 3,
      stderr: 'bad\n',
    });
  });
});
