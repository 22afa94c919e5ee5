/** `npm run servers:build`, with a Go that only pretends to build. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Finished, finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';

let directory: string;
let cache: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'orangebox-servers-build-'));
  cache = join(directory, 'cache');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A `go` that notes its builds in `builds`, takes its time, and writes an empty binary. */
function pretendGo({ version = 'go1.26.8', fails = false } = {}): string {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const go = `#!/bin/sh
case "$1" in
version) echo "go version ${version} linux/amd64" ;;
run) mkdir otelcol-ocb ;;
build)
  echo build >> "${directory}/builds"
  ${fails ? 'echo "no such module" >&2; exit 1' : ''}
  while [ "$1" != -o ]; do shift; done
  sleep 0.7
  mkdir -p "$(dirname "$2")"
  echo binary > "$2" ;;
esac
`;
  writeFileSync(join(bin, 'go'), go);
  chmodSync(join(bin, 'go'), 0o755);
  return `${bin}:/usr/bin:/bin`;
}

function build(path: string, ...names: string[]): Promise<Finished> {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(
    process.execPath,
    [inRepository('test/servers/build.mjs'), ...names],
    { env: { PATH: path, ORANGEBOX_SERVERS_DIR: cache }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  return finished(child);
}

const builds = (): number => readFileSync(join(directory, 'builds'), 'utf8').split('\n').length - 1;

it('builds each server once, and a second run takes no time', async () => {
  const path = pretendGo();
  const first = await build(path, 'otelcol', 'weed', 'jaeger');
  expect([first.code, first.stderr]).toEqual([0, '']);
  expect(first.stdout).toMatch(/^otelcol: ready after [\d.]+ s .*\n.*\n.*\nservers:build took [\d.]+ s\n$/);
  const second = await build(path, 'otelcol', 'weed', 'jaeger');
  expect(second.stdout).toMatch(/^otelcol: there already/);
  expect(builds()).toBe(3);
  expect(readdirSync(cache).map((name) => name.replace(/-[0-9a-f]{16}$/, ''))).toEqual(['jaeger', 'otelcol', 'weed']);
});

it('two runs at once build once, and the second waits for the first', async () => {
  const path = pretendGo();
  const runs = await Promise.all([build(path, 'weed'), build(path, 'weed')]);
  expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  expect(builds()).toBe(1);
  expect(runs.map(({ stdout }) => stdout).join('')).toContain('another run builds it, waiting');
});

it('a lock and a half-built folder of a run that was killed do not stand in the way', async () => {
  mkdirSync(join(cache, '.weed-killed'), { recursive: true });
  writeFileSync(join(cache, '.lock-weed'), '4194304');
  const { code } = await build(pretendGo(), 'weed');
  expect([code, readdirSync(cache).filter((name) => name.startsWith('.'))]).toEqual([0, []]);
});

it('says in one line that Go is missing or too old', async () => {
  const without = await build('/nowhere', 'weed');
  expect([without.code, without.stdout]).toEqual([3, '']);
  expect(without.stderr).toMatch(/^servers:build needs Go on the PATH [^\n]*\n$/);
  const old = await build(pretendGo({ version: 'go1.21.0' }), 'weed');
  expect([old.code, old.stderr]).toEqual([
    3,
    'servers:build needs Go 1.26 or newer; this is go version go1.21.0 linux/amd64.\n',
  ]);
});

it('a failing build leaves nothing that a later run could take for a server', async () => {
  const { code, stderr } = await build(pretendGo({ fails: true }), 'jaeger');
  expect([code, stderr]).toEqual([1, 'no such module\njaeger: go build ended with 1\n']);
  expect(readdirSync(cache)).toEqual([]);
});

it('knows no other names', async () => {
  const { code, stderr } = await build(pretendGo(), 'mysql');
  expect([code, stderr]).toEqual([2, 'No server is called mysql; there are otelcol, weed, jaeger, prometheus.\n']);
  expect(existsSync(cache)).toBe(false);
});
