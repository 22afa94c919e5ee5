import { exec } from 'node:child_process';
import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallSites } from './call-site.ts';
import type { Undo } from './ports.ts';
import { hookWork } from './work-hooks.ts';

const module = process.getBuiltinModule('node:fs');
const before = new Map(Object.entries(module).map(([name, value]) => [name, value as unknown]));
const promisesBefore = new Map(Object.entries(module.promises).map(([name, value]) => [name, value as unknown]));
let undo: Undo;
let began: string[];
let ended: string[];

beforeEach(() => {
  began = [];
  ended = [];
  const end = (kind: string): number => ended.push(kind);
  undo = hookWork(
    {
      begin(kind) {
        began.push(kind);
        return (deliver) => {
          end(kind);
          deliver();
        };
      },
      around(kind, run) {
        began.push(kind);
        run(() => void end(kind));
      },
    },
    new CallSites([], import.meta.dirname),
  );
  syncBuiltinESMExports();
});
afterEach(() => {
  undo();
  syncBuiltinESMExports();
});

it('functions look as they did, and are as before when the hooks are out', () => {
  for (const [holder, list] of [
    [module, before],
    [module.promises, promisesBefore],
  ] as const) {
    for (const [name, original] of list) {
      const now = (holder as unknown as Record<string, unknown>)[name];
      if (typeof original !== 'function' || typeof now !== 'function') continue;
      expect([name, now.name, now.length]).toEqual([name, original.name, original.length]);
      expect([name, Object.hasOwn(now, 'prototype')]).toEqual([name, Object.hasOwn(original, 'prototype')]);
    }
  }
  undo();
  for (const [name, original] of before) expect((module as unknown as Record<string, unknown>)[name]).toBe(original);
});

it('tells of work by callback and by promise, with what it gave', async () => {
  const file = import.meta.filename;
  expect(await promisify(fs.exists)(file)).toBe(true);
  const { bytesRead, buffer } = await new Promise<{ bytesRead: number; buffer: Buffer }>((resolve, reject) => {
    const fd = fs.openSync(file, 'r');
    promisify(fs.read)(fd, Buffer.alloc(6), 0, 6, 0)
      .then(resolve, reject)
      .finally(() => fs.closeSync(fd));
  });
  expect([bytesRead, buffer.toString()]).toEqual([6, 'import']);
  const handle = await fs.promises.open(file);
  expect((await handle.stat()).isFile()).toBe(true);
  await handle.close();
  expect(
    (
      await promisify(
        crypto.scrypt as (a: string, b: string, n: number, cb: (e: Error | null, k: Buffer) => void) => void,
      )('a', 'b', 8)
    ).length,
  ).toBe(8);
  expect(zlib.gunzipSync(await promisify(zlib.gzip)('orange')).toString()).toBe('orange');
  expect((await crypto.webcrypto.subtle.digest('SHA-256', new Uint8Array(1))).byteLength).toBe(32);
  await expect(fs.promises.readFile('/no/such')).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' });
  expect([...ended].sort()).toEqual([...began].sort());
  expect(new Set(began)).toEqual(
    new Set([
      'fs.exists',
      'fs.access',
      'fs.read',
      'fs.promises.open',
      'FileHandle.stat',
      'crypto.scrypt',
      'zlib',
      'crypto.subtle.digest',
      'fs.promises.readFile',
    ]),
  );
});

it('tells of the end of compression that fails, and of a stream that is destroyed meanwhile, once', async () => {
  await expect(promisify(zlib.gunzip)(Buffer.from('this is no gzip'))).rejects.toMatchObject({ code: 'Z_DATA_ERROR' });
  expect([began, ended]).toEqual([['zlib'], ['zlib']]);
  const stream = zlib.createGzip();
  stream.write(Buffer.alloc(1_000_000));
  stream.destroy();
  await new Promise((resolve) => stream.once('close', resolve));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([began, ended]).toEqual([
    ['zlib', 'zlib'],
    ['zlib', 'zlib'],
  ]);
});

it('leaves calls without a callback, synchronous ones and errors of arguments as they are', async () => {
  expect(() => (fs.readFile as unknown as (path: string) => void)('a')).toThrow(/"cb"/);
  expect(crypto.randomBytes(4)).toHaveLength(4);
  expect(fs.existsSync(import.meta.filename)).toBe(true);
  expect(zlib.gzipSync('a').length).toBeGreaterThan(0);
  await promisify(exec)('true');
  expect(() => fs.readFile(1.5 as never, () => undefined)).toThrow(/path|fd/);
  expect(ended).toEqual([]);
});
