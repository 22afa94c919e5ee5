/** What stands on the device when the power is cut, by a file system that remembers what was brought there. */
import * as realFs from 'node:fs';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { type CollectedRecords, collectRecords } from '@orangebox/codec';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SegmentFs } from './segment-directory.ts';
import { answer, chatRequest, openExchange, play, readRecords, testRecorder } from './testing/scripted-exchange.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'orangebox-power-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

interface Device {
  fs: SegmentFs;
  calls: string[];
  /** Settles when nothing is on its way to the device. */
  idle(): Promise<void>;
  /** Cuts the power: a directory with what had been brought to the device. */
  cut(): CollectedRecords;
}

function device(root: string): Device {
  const paths = new Map<number, string>();
  const contents = new Map<string, Buffer>();
  const entries = new Map<string, Set<string>>();
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  let running = 0;
  const bring = (fd: number): void => {
    const path = paths.get(fd) ?? '';
    if (realFs.statSync(path).isDirectory()) entries.set(path, new Set(readdirSync(path)));
    else contents.set(path, readFileSync(path));
  };
  const beside = (name: string, fd: number, done: (error: NodeJS.ErrnoException | null) => void): void => {
    calls.push(name);
    running += 1;
    realFs.fsync(fd, () => {
      bring(fd);
      running -= 1;
      done(null);
      if (running === 0) for (const one of waiting.splice(0)) one();
    });
  };
  const fs: SegmentFs = {
    ...realFs,
    openSync: (path, flags, mode) => {
      const fd = realFs.openSync(path, flags, mode);
      paths.set(fd, String(path));
      return fd;
    },
    fsyncSync: (fd) => {
      calls.push('fsyncSync');
      bring(fd);
    },
    fdatasyncSync: (fd) => {
      calls.push('fdatasyncSync');
      bring(fd);
    },
    fsync: ((fd, done) => beside('fsync', fd, done)) as SegmentFs['fsync'],
    fdatasync: ((fd, done) => beside('fdatasync', fd, done)) as SegmentFs['fdatasync'],
  };
  const isNamed = (path: string): boolean => {
    for (let at = path; at !== base; at = dirname(at)) {
      if (!entries.get(dirname(at))?.has(relative(dirname(at), at))) return false;
    }
    return true;
  };
  return {
    fs,
    calls,
    idle: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    cut() {
      const after = join(base, 'after');
      mkdirSync(join(after, 'segments'), { recursive: true });
      for (const [path, bytes] of contents) {
        if (!isNamed(path)) continue;
        const to = join(after, relative(root, path));
        mkdirSync(dirname(to), { recursive: true });
        writeFileSync(to, bytes);
      }
      return collectRecords(readRecords(after));
    },
  };
}

function start(env: Record<string, string> = {}): { box: ReturnType<typeof testRecorder>; disk: Device } {
  const dir = join(base, 'box');
  const disk = device(dir);
  return { disk, box: testRecorder({ ORANGEBOX_DIR: dir, ORANGEBOX_FSYNC: 'call', ...env }, { fs: disk.fs }) };
}

it('keeps a request that is out, and holds nothing back for it', async () => {
  const { box, disk } = start();
  const exchange = box.recorder.open({
    kind: 'llm',
    client: 'undici',
    method: 'POST',
    url: 'https://api.example.test/v1/chat/completions',
    startUnixNano: 1_800_000_000_000_000_000n,
    context: { scope: [], place: undefined },
  });
  exchange.requestHead([['content-type', 'application/json']], []);
  const body = chatRequest([{ role: 'user', content: 'before the cut' }]);
  exchange.requestChunk(body, 1000, true);
  expect(disk.calls).toEqual(['fdatasync']);
  await disk.idle();
  expect(disk.calls.filter((name) => name.endsWith('Sync'))).toEqual([]);
  const { open } = disk.cut();
  expect(open).toHaveLength(1);
  expect(Buffer.concat(open[0]?.requestChunks.map(({ bytes }) => bytes) ?? [])).toEqual(Buffer.from(body));
});

it('keeps a request that went out while another one was on its way to the device', async () => {
  const { box, disk } = start();
  openExchange(box.recorder);
  openExchange(box.recorder);
  await disk.idle();
  expect(disk.cut().open).toHaveLength(2);
});

it('keeps a call that has ended, whole', async () => {
  const { box, disk } = start();
  answer(openExchange(box.recorder));
  await disk.idle();
  await box.recorder.flush(1000);
  const { calls, exchanges } = disk.cut();
  expect(calls).toHaveLength(1);
  expect([...exchanges.values()].map(({ responseChunks, end }) => [responseChunks.length, end?.ending])).toEqual([
    [1, 'complete'],
  ]);
});

it('keeps what stands in a file that is full', async () => {
  const { box, disk } = start({ ORANGEBOX_DIR_BYTES: String(1024 * 1024) });
  for (let i = 0; i < 40; i++) {
    openExchange(box.recorder, { requestChunks: [chatRequest([{ role: 'user', content: 'x'.repeat(8000) }])] });
  }
  await disk.idle();
  expect(disk.cut().open).toHaveLength(40);
});

it('brings nothing to the device by default', async () => {
  const { box, disk } = start({ ORANGEBOX_FSYNC: 'off' });
  play(box.recorder);
  await box.recorder.flush(1000);
  box.finish();
  expect(disk.calls).toEqual([]);
});
