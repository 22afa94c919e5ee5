import { EventEmitter, once } from 'node:events';
import * as nodeFs from 'node:fs';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { concatBytes, decodeSegment, encodeSegmentHeader } from '@orangebox/codec';
import { segmentFileName, segmentHost } from '@orangebox/schema';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Sweeper as RealSweeper } from './retention/sweep.ts';
import type { SweepResult } from './retention/sweep-scope.ts';
import type { SegmentFs } from './segment-directory.ts';
import {
  answer,
  bytes,
  chatRequest,
  openExchange,
  play,
  readRecords,
  responseText,
  segmentPaths,
  snapshotOf,
  spansThatNote,
  type TestRecorder,
  testRecorder,
} from './testing/scripted-exchange.ts';

/** Heard at the end of each sweep. */
const swept = new EventEmitter();
vi.mock('./retention/sweep.ts', async (original) => {
  const { Sweeper } = await original<typeof import('./retention/sweep.ts')>();
  return {
    Sweeper: class extends Sweeper {
      override async sweep(...args: Parameters<RealSweeper['sweep']>): Promise<SweepResult> {
        try {
          return await super.sweep(...args);
        } finally {
          swept.emit('end');
        }
      }
    },
  };
});

// Loaded once, before two recorders ask for it at the same time: the second would wait for ever.
await import('./retention/sweep.ts');

/** Sweeps begin in turns of the event loop that they do not ask for: here nobody else does. */
async function sweepEnd(): Promise<void> {
  const turning = setInterval(() => undefined, 5);
  await once(swept, 'end');
  clearInterval(turning);
}

let open: TestRecorder[] = [];
const start: typeof testRecorder = (...args) => {
  const made = testRecorder(...args);
  open.push(made);
  return made;
};
const roots: string[] = [];
const temporary = (): string => {
  const root = mkdtempSync(join(tmpdir(), 'orangebox-storage-'));
  roots.push(root);
  return root;
};
afterEach(() => {
  for (const made of open) made.dispose();
  open = [];
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
  vi.useRealTimers();
});

/** A disk that can be told to fail. */
function failingFs(): { fs: SegmentFs; fail: { code?: string; shortBy?: number } } {
  const fail: { code?: string; shortBy?: number } = {};
  const fs: SegmentFs = {
    ...nodeFs,
    writevSync: ((fd: number, buffers: Uint8Array[]) => {
      if (fail.code) throw Object.assign(new Error(`${fail.code}: write`), { code: fail.code });
      if (fail.shortBy) {
        const all = Buffer.concat(buffers);
        return nodeFs.writeSync(fd, all, 0, all.length - fail.shortBy);
      }
      return nodeFs.writevSync(fd, buffers);
    }) as typeof nodeFs.writevSync,
  };
  return { fs, fail };
}

describe('a disk that cannot be written to', () => {
  it.each(['ENOSPC', 'EROFS', 'EACCES', 'EIO'])(
    'leaves the program as before, without a key and with one warning: %s',
    (code) => {
      const { fs, fail } = failingFs();
      const ended: unknown[] = [];
      const box = start({}, { fs, spans: spansThatNote(ended) });
      fail.code = code;
      for (let i = 0; i < 3; i++) play(box.recorder);
      box.recorder.flushSync('process_exit');
      expect(box.warnings).toHaveLength(1);
      expect(box.warnings[0]).toContain('The program goes on as before');
      expect(ended).toHaveLength(3);
      for (const facts of ended) {
        expect(facts).toMatchObject({
          attributes: { 'orangebox.snapshot.fidelity': 'partial', 'orangebox.snapshot.fidelity.reason': 'no_storage' },
        });
        expect(JSON.stringify(facts, text)).not.toContain('orangebox.snapshot.key');
      }
      expect(box.recorder.stats()).toMatchObject({ calls: 3, open: 0, heldBytes: 0 });
    },
  );

  it('is used again when it recovers, in a new file', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { fs, fail } = failingFs();
    const box = start({}, { fs });
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    fail.code = 'ENOSPC';
    play(box.recorder, { requestChunks: [bytes('{"model":"lost"}')] });
    box.recorder.flushSync('process_exit');
    delete fail.code;
    vi.advanceTimersByTime(1500);
    play(box.recorder, { requestChunks: [bytes('{"model":"kept"}')] });
    const records = box.finish();
    expect(records.calls.map((call) => [call.summary.model, call.key !== undefined])).toEqual([
      ['gpt-test', true],
      ['kept', true],
    ]);
    expect(records.dropped.get('no_storage')?.count).toBeGreaterThan(0);
    expect(box.warnings).toHaveLength(1);
  });

  it.each([
    ['removes it', (box: TestRecorder) => rmSync(box.dir, { recursive: true }), ['exact', 'exact']],
    [
      'puts a file in its place',
      (box: TestRecorder) => {
        rmSync(box.dir, { recursive: true });
        writeFileSync(box.dir, '');
      },
      // The call that found no directory says so once there is one.
      ['partial', 'exact'],
    ],
    [
      'cuts its file short',
      (box: TestRecorder) => truncateSync(segmentPaths(box.dir).at(-1) ?? '', 0),
      ['exact', 'exact'],
    ],
  ])('is looked at again when somebody %s', (_what, spoil, kept) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const box = start();
    play(box.recorder);
    box.recorder.flushSync('signal');
    spoil(box);
    vi.advanceTimersByTime(1500);
    play(box.recorder);
    if (kept[0] === 'partial') rmSync(box.dir);
    vi.advanceTimersByTime(1500);
    play(box.recorder);
    const records = box.finish();
    expect(records.calls.map((call) => call.fidelity.level)).toEqual(kept);
    expect(box.warnings).toHaveLength(kept[0] === 'partial' ? 1 : 0);
  });

  it('does not spoil what comes after a half-written frame', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { fs, fail } = failingFs();
    const box = start({}, { fs });
    const torn = openExchange(box.recorder);
    fail.shortBy = 10;
    answer(torn);
    box.recorder.flushSync('process_exit');
    delete fail.shortBy;
    vi.advanceTimersByTime(1500);
    play(box.recorder);
    const records = box.finish();
    expect(records.calls.at(-1)?.fidelity).toEqual({ level: 'exact' });
    expect(snapshotOf(records, records.calls.at(-1)).digest).toBe(records.calls.at(-1)?.digest);
    const first = decodeSegment(readFileSync(segmentPaths(box.dir)[0] ?? ''));
    expect([...first].length).toBeGreaterThan(0);
    expect(first.end.state).toBe('torn');
  });

  it('is not entered where a directory is no directory of ours', () => {
    const root = temporary();
    mkdirSync(join(root, 'elsewhere'));
    mkdirSync(join(root, 'box'));
    symlinkSync(join(root, 'elsewhere'), join(root, 'box', 'segments'));
    const box = start({ ORANGEBOX_DIR: join(root, 'box') });
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(readdirSync(join(root, 'elsewhere'))).toEqual([]);
    expect(box.warnings[0]).toContain('is not a directory');
  });

  it('is not entered where another user owns it', () => {
    const box = start(
      {},
      { fs: { ...nodeFs, statSync: ownedBy(12345, nodeFs.statSync), lstatSync: ownedBy(12345, nodeFs.lstatSync) } },
    );
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(box.warnings[0]).toContain('belongs to another user');
  });

  it('is given up where the directory cannot be made though the one above is there', () => {
    const asked: unknown[] = [];
    const mkdirSync = ((_path: string, options: { recursive?: boolean }) => {
      asked.push(options.recursive ?? false);
      throw Object.assign(new Error('ENOENT: mkdir'), { code: 'ENOENT' });
    }) as SegmentFs['mkdirSync'];
    const box = start({ ORANGEBOX_DIR: join(temporary(), 'a', 'b') }, { fs: { ...nodeFs, mkdirSync } });
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(box.warnings).toHaveLength(1);
    // A recursive one never returns in such a place.
    expect(new Set(asked)).toEqual(new Set([false]));
  });

  it('can be a file in the place of the directory', () => {
    const root = temporary();
    writeFileSync(join(root, 'box'), 'mine');
    const box = start({ ORANGEBOX_DIR: join(root, 'box') });
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(readFileSync(join(root, 'box'), 'utf8')).toBe('mine');
    expect(box.warnings).toHaveLength(1);
  });
});

describe('bounds of the disk', () => {
  it('rotates files, and an exchange over two of them comes back whole', () => {
    const box = start({ ORANGEBOX_DIR_BYTES: '12MiB' });
    const exchange = openExchange(box.recorder);
    const chunk = new Uint8Array(900_000).fill(0x61);
    exchange.responseHead({ status: 200, statusText: 'OK', headers: [], atNano: 1, delivery: 1 });
    for (let i = 0; i < 5; i++) {
      exchange.responseChunk(chunk, 2 + i, 2 + i);
      box.recorder.stats();
      for (let j = 0; j < 2; j++) play(box.recorder, { responseChunks: [new Uint8Array(400_000).fill(0x62)] });
    }
    exchange.end({ ending: 'complete', stage: 'done' }, 100);
    const records = box.finish();
    expect(segmentPaths(box.dir).length).toBeGreaterThan(1);
    expect(records.calls).toHaveLength(11);
    for (const call of records.calls) expect(snapshotOf(records, call).digest).toBe(call.digest);
    const states = segmentPaths(box.dir).map((path) => {
      const decoder = decodeSegment(readFileSync(path));
      return [[...decoder].at(-1)?.record.type, decoder.end.state];
    });
    for (const state of states) expect(state).toEqual(['segmentEnd', 'clean']);
  });

  it('removes nothing behind a link', () => {
    const [dir, elsewhere] = [join(temporary(), 'box'), temporary()];
    mkdirSync(join(dir, 'segments'), { recursive: true, mode: 0o700 });
    symlinkSync(elsewhere, join(dir, 'segments', '2020-01-01'));
    const id = { host: segmentHost(hostname()), threadId: 0, startUnixMs: 1, n: 0, pid: 4_000_000 };
    const linked = join(elsewhere, segmentFileName(id));
    writeFileSync(linked, new Uint8Array(2_000_000));
    const box = start({ ORANGEBOX_DIR: dir, ORANGEBOX_DIR_BYTES: '1MiB' });
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(statSync(linked).size).toBe(2_000_000);
  });

  it('removes the oldest recordings, its own and of dead processes, counts them, and says so once', async () => {
    const dir = join(temporary(), 'box');
    const old = join(dir, 'segments', '2020-01-01');
    mkdirSync(old, { recursive: true });
    const id = { host: segmentHost(hostname()), threadId: 0, startUnixMs: 1, n: 0 };
    const dead = join(old, segmentFileName({ ...id, pid: 4_000_000 }));
    const alive = join(old, segmentFileName({ ...id, startUnixMs: Date.now(), pid: process.ppid }));
    for (const path of [dead, alive]) {
      writeFileSync(path, concatBytes([encodeSegmentHeader(), new Uint8Array(300_000)]));
      utimesSync(path, 1, 1);
    }
    chmodSync(dir, 0o700);
    const box = start({ ORANGEBOX_DIR: dir, ORANGEBOX_DIR_BYTES: '1MiB' });
    for (let i = 0; i < 24; i++) {
      play(box.recorder, { responseChunks: [new Uint8Array(100_000).fill(0x61)] });
      box.recorder.flushSync('signal');
      expect(bytesIn(dir)).toBeLessThanOrEqual(1024 * 1024);
      // Room is made beside the program.
      while (bytesIn(dir) > 0.625 * 1024 * 1024) await sweepEnd();
    }
    const records = box.finish();
    const paths = segmentPaths(dir);
    expect(paths).not.toContain(dead);
    expect(paths).toContain(alive);
    expect(records.calls.length).toBeLessThan(10);
    for (const call of records.calls) expect(snapshotOf(records, call).digest).toBe(call.digest);
    expect(records.calls.at(-1)?.fidelity).toEqual({ level: 'exact' });
    expect(records.dropped.get('dir_bytes')?.count).toBeGreaterThan(10);
    // The file of the dead one held nothing that can be counted in calls.
    expect(box.recorder.stats().faults).toMatchObject({ dir_age: 1, dir_bytes: 24 - records.calls.length });
    expect(box.warnings).toEqual([
      expect.stringContaining('reached ORANGEBOX_DIR_DAYS'),
      expect.stringContaining('reached ORANGEBOX_DIR_BYTES'),
    ]);
  }, 60_000);

  it('says at the end what went while no file was open', async () => {
    const dir = join(temporary(), 'box');
    const old = join(dir, 'segments', '2020-01-01');
    mkdirSync(old, { recursive: true, mode: 0o700 });
    const id = { host: segmentHost(hostname()), threadId: 0, startUnixMs: 1, n: 0, pid: 4_000_000 };
    const dead = join(old, segmentFileName(id));
    writeFileSync(dead, concatBytes([encodeSegmentHeader(), new Uint8Array(1000)]));
    utimesSync(dead, 1, 1);
    const box = start({ ORANGEBOX_DIR: dir });
    play(box.recorder);
    const isSwept = sweepEnd();
    box.recorder.flushSync('signal');
    await isSwept;
    expect(segmentPaths(dir)).toHaveLength(1);
    const records = box.finish();
    expect(segmentPaths(dir)).toHaveLength(2);
    expect(records.dropped.get('dir_age')?.count).toBe(1);
  });

  it('keeps no body, and in the end nothing, where no room can be made', async () => {
    const dir = join(temporary(), 'box');
    const other = join(dir, 'segments', '2020-01-01');
    mkdirSync(other, { recursive: true, mode: 0o700 });
    const id = { host: segmentHost(hostname()), threadId: 0, startUnixMs: Date.now(), n: 0, pid: process.ppid };
    writeFileSync(join(other, segmentFileName(id)), concatBytes([encodeSegmentHeader(), new Uint8Array(60_000)]));
    const ended: unknown[] = [];
    const box = start({ ORANGEBOX_DIR: dir, ORANGEBOX_DIR_BYTES: '64KiB' }, { spans: spansThatNote(ended) });
    play(box.recorder);
    await vi.waitFor(() => expect(readdirSync(dir)).toContain('.full'));
    for (let i = 0; i < 10; i++) play(box.recorder);
    const records = box.finish();
    expect(bytesIn(dir)).toBeLessThanOrEqual(64 * 1024);
    expect(ended).toHaveLength(11);
    expect(ended.at(-1)).toMatchObject({ attributes: { 'orangebox.snapshot.fidelity.reason': 'no_storage' } });
    for (const call of records.calls.filter(({ key }) => key))
      expect(snapshotOf(records, call).digest).toBe(call.digest);
    expect(box.warnings.filter((line) => line.includes('ORANGEBOX_DIR_BYTES'))).toHaveLength(1);
    // The next one looks before it writes.
    const next = start({ ORANGEBOX_DIR: dir, ORANGEBOX_DIR_BYTES: '64KiB' });
    const before = bytesIn(dir);
    play(next.recorder);
    expect(bytesIn(dir)).toBe(before);
  });

  it('begins a new file each day', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const box = start();
    play(box.recorder);
    box.recorder.flushSync('signal');
    const first = openExchange(box.recorder);
    vi.advanceTimersByTime(25 * 3600_000);
    answer(first);
    box.finish();
    expect(segmentPaths(box.dir).length).toBeGreaterThan(1);
  });

  it('stops writing bodies on a nearly full disk, and says so', () => {
    const statfsSync = (() => ({ bavail: 1, blocks: 100 })) as unknown as typeof nodeFs.statfsSync;
    const box = start({}, { fs: { ...nodeFs, statfsSync } });
    play(box.recorder);
    const { calls } = box.finish();
    expect(calls[0]?.fidelity).toEqual({ level: 'partial', reason: 'no_storage' });
    expect(calls[0]?.key).toBeUndefined();
    expect(calls[0]?.summary).toMatchObject({ model: 'gpt-test', outputTokens: 4 });
    expect(readRecords(box.dir).some((r) => r.type === 'responseChunk')).toBe(false);
    expect(box.warnings[0]).toContain('5 %');
  });
});

describe('bounds of the memory', () => {
  it('lets the bytes of open calls go and reads them back, exact', () => {
    const box = start({ ORANGEBOX_MEMORY_BYTES: '1MiB' });
    const exchanges = Array.from({ length: 8 }, () => openExchange(box.recorder));
    let most = 0;
    for (const exchange of exchanges)
      exchange.responseHead({ status: 200, statusText: 'OK', headers: [], atNano: 1, delivery: 1 });
    for (let round = 0; round < 10; round++) {
      exchanges.forEach((exchange, i) => {
        exchange.responseChunk(new Uint8Array(50_000).fill(0x61 + i), round, round + 2);
        most = Math.max(most, box.recorder.stats().heldBytes);
      });
    }
    for (const exchange of exchanges) exchange.end({ ending: 'complete', stage: 'done' }, 1000);
    const records = box.finish();
    expect(box.recorder.stats().reliefs).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(1024 * 1024);
    for (const call of records.calls) {
      const snapshot = snapshotOf(records, call);
      expect(snapshot.digest).toBe(call.digest);
      expect(call.fidelity).toEqual({ level: 'exact' });
      expect(responseText(snapshot)).toHaveLength(500_000);
    }
    expect(box.recorder.stats().heldBytes).toBe(0);
  });

  it('cuts a body at its limit and says that it did', () => {
    const box = start({ ORANGEBOX_MAX_BODY_BYTES: '1000' });
    play(box.recorder, { responseChunks: [bytes('a'.repeat(900)), bytes('b'.repeat(900)), bytes('c'.repeat(20_000))] });
    const records = box.finish();
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(responseText(snapshot)).toBe('a'.repeat(900) + 'b'.repeat(100));
    expect(snapshot.fidelity).toEqual({ level: 'partial', reason: 'body_limit' });
    expect(snapshot.exchanges[0]?.truncated).toEqual({ response: true });
    expect(records.calls[0]?.digest).toBe(snapshot.digest);
    expect(records.calls[0]?.key).toBeDefined();
  });
});

describe('levels and modes', () => {
  it('metadata keeps no body and promises no key, and still knows the call', () => {
    const box = start({ ORANGEBOX_LEVEL: 'metadata' });
    play(box.recorder);
    const records = box.finish();
    const [call] = records.calls;
    expect(call?.key).toBeUndefined();
    expect(call?.summary).toMatchObject({ model: 'gpt-test', outputTokens: 4 });
    expect(snapshotOf(records, call).digest).toBe(call?.digest);
    for (const path of segmentPaths(box.dir)) expect(readFileSync(path, 'latin1')).not.toContain('hello');
  });

  it('errors keeps failed calls whole and nothing of the others', () => {
    const box = start({ ORANGEBOX_LEVEL: 'errors' });
    play(box.recorder, { requestChunks: [chatRequest([{ role: 'user', content: 'good' }])] });
    play(box.recorder, { requestChunks: [chatRequest([{ role: 'user', content: 'bad' }])], status: 400 });
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    expect(records.calls[0]?.key).toBeDefined();
    expect(snapshotOf(records, records.calls[0]).digest).toBe(records.calls[0]?.digest);
    expect(records.exchanges.size).toBe(1);
  });

  it('off does nothing', () => {
    const box = start({ ORANGEBOX_LEVEL: 'off' });
    play(box.recorder);
    box.recorder.flushSync('process_exit');
    expect(box.recorder.stats()).toMatchObject({ mode: 'off', calls: 0 });
    expect(() => segmentPaths(box.dir)).toThrow();
  });

  it('an OTLP endpoint alone keeps nothing on the disk, promises no key, and says so once', () => {
    const root = temporary();
    const ended: unknown[] = [];
    const env = { ORANGEBOX_DIR: '', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    const cwd = process.cwd();
    process.chdir(root);
    try {
      const box = start({}, { env, spans: spansThatNote(ended) });
      play(box.recorder);
      play(box.recorder);
      box.recorder.flushSync('process_exit');
      expect(box.warnings).toHaveLength(1);
      expect(box.warnings[0]).toContain('no snapshot is kept');
    } finally {
      process.chdir(cwd);
    }
    expect(readdirSync(root)).toEqual([]);
    expect(ended).toHaveLength(2);
    expect(ended[0]).toMatchObject({ attributes: { 'gen_ai.usage.output_tokens': 4 } });
  });
});

describe('other HTTP', () => {
  it('has snapshots too, and spans named by the method', () => {
    const box = start();
    play(box.recorder, { kind: 'http', method: 'GET', requestChunks: [], responseChunks: [bytes('plain')] });
    const records = box.finish();
    expect(records.calls[0]).toMatchObject({ kind: 'http', spans: [{ name: 'GET' }], summary: { status: 200 } });
    expect(records.calls[0]?.session).toBeUndefined();
    expect(responseText(snapshotOf(records, records.calls[0]))).toBe('plain');
  });
});

/** Bytes of all segment files. */
function bytesIn(dir: string): number {
  return segmentPaths(dir).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

function text(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function ownedBy<T extends (...args: never[]) => unknown>(uid: number, real: T): T {
  return ((...args: never[]) => Object.assign(real(...args) as object, { uid })) as unknown as T;
}
