import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { segmentHost } from '@orangebox/schema';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CLAIMS_DIRECTORY, claimPath, isStale, prepareClaims, readClaim, sweepClaims, takeClaim } from './claims.ts';

const DEAD_PID = 4_194_305;
let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obx-claims-'));
  prepareClaims(dir);
  path = claimPath(dir, 'web-7-0-1');
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const content = (more: object = {}): string =>
  JSON.stringify({ token: 't', kind: 'ship', pid: DEAD_PID, host: segmentHost(hostname()), threadId: 0, ...more });
const age = (seconds: number): void => {
  const time = Date.now() / 1000 - seconds;
  utimesSync(path, time, time);
};

it('is held by one at a time, privately, and free again after that', () => {
  const claim = takeClaim(path, 'recover');
  expect(claim?.isHeld()).toBe(true);
  expect(takeClaim(path, 'recover')).toBeUndefined();
  expect([statSync(path).mode & 0o777, statSync(join(dir, CLAIMS_DIRECTORY)).mode & 0o777]).toEqual([0o600, 0o700]);
  claim?.release();
  expect(existsSync(path)).toBe(false);
  expect(takeClaim(path, 'recover')?.isHeld()).toBe(true);
});

it('of a process that is gone is taken over with its position', () => {
  const cursor = { n: 3, offset: 1234, quarantined: [{ key: 'k', reason: 'status 413', atUnixNano: '1' }] };
  writeFileSync(path, content({ cursor }));
  const claim = takeClaim(path, 'ship');
  expect(claim?.cursor).toEqual(cursor);
  expect(readdirSync(join(dir, CLAIMS_DIRECTORY))).toEqual(['web-7-0-1.json']);
});

it('of a process that lives is left alone, and one with its number only is not', () => {
  writeFileSync(path, content({ pid: process.pid }));
  expect(takeClaim(path, 'ship')).toBeUndefined();
  writeFileSync(path, content({ pid: process.pid, startedMs: 1 }));
  expect(takeClaim(path, 'ship')).toBeDefined();
});

it('of another host or namespace is stale when it was not touched for two minutes', () => {
  for (const more of [{ host: 'elsewhere' }, { pid: process.pid, pidNamespace: 'pid:[1]' }]) {
    writeFileSync(path, content(more));
    age(100);
    expect(takeClaim(path, 'ship')).toBeUndefined();
    age(130);
    const claim = takeClaim(path, 'ship');
    expect(claim).toBeDefined();
    claim?.release();
  }
});

it('that is no claim holds nobody up for ever', () => {
  writeFileSync(path, 'GIF89a');
  expect(takeClaim(path, 'ship')).toBeUndefined();
  age(130);
  expect(takeClaim(path, 'ship')).toBeDefined();
});

it('that is a link is replaced, and what it points to is not touched', () => {
  const target = join(dir, 'target');
  writeFileSync(target, 'mine');
  symlinkSync(target, path);
  expect(takeClaim(path, 'ship')).toBeDefined();
  expect(lstatSync(path).isSymbolicLink()).toBe(false);
  expect(readFileSync(target, 'utf8')).toBe('mine');
});

it('knows when somebody has taken it over, and then writes over nothing', () => {
  const claim = takeClaim(path, 'ship');
  rmSync(path);
  writeFileSync(path, content({ token: 'another' }));
  expect([claim?.isHeld(), claim?.touch()]).toEqual([false, false]);
  claim?.save({ n: 1, offset: 1, quarantined: [] });
  claim?.release();
  expect(readClaim(path)?.content?.token).toBe('another');
});

it('keeps its position in a file that never has half a claim', () => {
  const claim = takeClaim(path, 'ship');
  const quarantined = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, reason: 'r', atUnixNano: '1' }));
  claim?.save({ n: 1, offset: 5, quarantined });
  claim?.save({ n: 2, offset: 6, quarantined: [] });
  expect(readClaim(path)?.content?.cursor).toEqual({ n: 2, offset: 6, quarantined: [] });
  claim?.keep();
  expect(existsSync(path)).toBe(true);
});

it('refuses a directory that is a link', () => {
  const other = join(dir, 'other');
  mkdirSync(other);
  symlinkSync(other, join(other, CLAIMS_DIRECTORY));
  expect(() => prepareClaims(other)).toThrow('is not a directory');
});

it('is swept when its series is long gone', () => {
  const sweep = (...given: Parameters<typeof sweepClaims>): void => void [...sweepClaims(...given)];
  writeFileSync(path, content());
  sweep(dir, new Set());
  expect(existsSync(path)).toBe(true);
  age(7200);
  sweep(dir, new Set(['web-7-0-1']));
  expect(existsSync(path)).toBe(true);
  sweep(dir, new Set());
  expect(existsSync(path)).toBe(false);
});

it('says whether it is stale from what was read', () => {
  expect(isStale({ content: undefined, modifiedMs: Date.now(), isFile: true })).toBe(false);
  expect(isStale({ content: undefined, modifiedMs: Date.now(), isFile: false })).toBe(true);
});
