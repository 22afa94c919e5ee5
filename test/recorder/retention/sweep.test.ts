/** A sweep over real files: which calls go, in which order, and that none is ever halved. */
import * as fsNow from 'node:fs';
import {
  appendFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import type { SegmentRecord } from '@orangebox/schema';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Pace } from '../../../packages/recorder/src/retention/pace.ts';
import { rewriteFs } from '../../../packages/recorder/src/retention/rewrite.ts';
import { Sweeper } from '../../../packages/recorder/src/retention/sweep.ts';
import { DAY_MS, type MadeCall, type MadeCalls, makeCalls, readAll, shippedRecord, TestDirectory } from './series.ts';

const NOW = 1_700_000_100_000;
let made: MadeCalls;
let box: TestDirectory;
const boxes: TestDirectory[] = [];
const newBox = (): TestDirectory => {
  box = new TestDirectory();
  boxes.push(box);
  return box;
};
const sweeper = (): Sweeper => new Sweeper(rewriteFs, () => new Pace(1.5, 0));

beforeAll(() => {
  made = makeCalls(Array.from({ length: 12 }, (_, i) => ({ status: i % 3 === 2 ? 400 : 200 })));
});
afterEach(() => {
  for (const one of boxes.splice(0)) one.dispose();
});

const call = (i: number): MadeCall => {
  const found = made.calls[i];
  if (!found) throw new Error('no such call');
  return found;
};
const bytesOf = async (...calls: MadeCall[]): Promise<number> => {
  const other = new TestDirectory();
  boxes.push(other);
  other.write(made.process, [calls.flatMap(({ records }) => records)]);
  const empty = new TestDirectory();
  boxes.push(empty);
  empty.write(made.process, [[]]);
  return other.sizeBytes - empty.sizeBytes;
};
const spansOf = (...calls: MadeCall[]): Set<string> => new Set(calls.map(({ spanId }) => spanId));

describe('room is made', () => {
  /** Four files of three calls each: the third of each failed; the calls of the first and third file were shipped. */
  const fill = (): void => {
    const groups = [0, 3, 6, 9].map((from) => [call(from), call(from + 1), call(from + 2)]);
    newBox().write(
      made.process,
      groups.map((calls, i) => [
        ...calls.flatMap(({ records }) => records),
        ...(i % 2 === 0 ? calls.map(shippedRecord) : []),
      ]),
    );
  };

  test('of shipped calls first, the oldest of them before the others', async () => {
    fill();
    const result = await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
    expect(await box.load()).toEqual(spansOf(...made.calls.filter((_, i) => i !== 0)));
    expect(result.losses.dir_bytes).toMatchObject({ sent: 1, unsent: 0 });
  });

  test('then of those not shipped, then of failed ones that were, and of the rest last', async () => {
    fill();
    const order = [0, 1, 6, 7, 3, 4, 9, 10, 2, 8, 5, 11];
    for (let gone = 1; gone < order.length; gone++) {
      await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
      expect(await box.load(), `after ${gone}`).toEqual(spansOf(...order.slice(gone).map(call)));
    }
  });

  test('all at once as one after the other', async () => {
    fill();
    const rest = await bytesOf(call(2), call(8), call(5), call(11));
    const result = await sweeper().sweep(box.scope({ keepBytes: rest + 3000 }), NOW);
    expect(await box.load()).toEqual(spansOf(call(2), call(8), call(5), call(11)));
    expect(result.losses.dir_bytes).toMatchObject({ sent: 4, unsent: 4 });
    expect(result.totalBytes).toBe(box.sizeBytes);
  });

  test('without a file of which nothing stays, nor a directory of which nothing does', async () => {
    fill();
    await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW);
    expect(readAll(box.dir)).toEqual([]);
    expect(fsNow.readdirSync(join(box.dir, 'segments'))).toEqual([]);
  });

  test('and what stays keeps its mode, its time and what was said of it', async () => {
    fill();
    const [path = ''] = box.paths;
    const before = statSync(path);
    await sweeper().sweep(box.scope({ keepBytes: (await bytesOf(call(2), call(8), call(5), call(11))) + 3000 }), NOW);
    const after = statSync(path);
    expect(after.size).toBeLessThan(before.size);
    expect([after.mode & 0o777, after.mtimeMs]).toEqual([0o600, before.mtimeMs]);
    const types = readAll(box.dir)[0]?.records.map(({ type }) => type);
    expect(types?.[0]).toBe('segmentStart');
    expect(types?.filter((type) => type === 'shipped')).toHaveLength(1);
    expect(types?.at(-1)).toBe('segmentEnd');
  });
});

describe('a call that stands in several files', () => {
  /** The first call begins in the first file and ends in the third. */
  const straddle = (shipped: boolean): void => {
    const { records } = call(0);
    newBox().write(made.process, [
      [...records.slice(0, 2), ...call(1).records],
      [...records.slice(2, 4), ...call(2).records],
      [...records.slice(4), ...call(3).records, ...(shipped ? [shippedRecord(call(0))] : [])],
    ]);
  };

  test('goes from all of them', async () => {
    straddle(true);
    await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
    expect(await box.load()).toEqual(spansOf(call(1), call(2), call(3)));
    const left = readAll(box.dir).flatMap(({ records }) => records);
    expect(left.filter((r) => 'exchangeId' in r && r.exchangeId === 1)).toEqual([]);
  });

  test('stays in all where one of them is in use', async () => {
    straddle(true);
    const own = { host: '', pid: 4_190_000, threadId: 0, startUnixMs: 1_700_000_000_000 };
    const id = box.paths[0]?.split('/').at(-1)?.split('-')[0] ?? '';
    const scope = box.scope({ keepBytes: 0, own: { ...own, host: id }, keepFromN: () => 2 });
    await sweeper().sweep(scope, NOW);
    expect(await box.load()).toEqual(spansOf(call(0), call(3)));
  });

  test.each([0, 1, 2, 3])(
    'is whole or gone wherever a sweep is cut short (after %i replaced files)',
    async (allowed) => {
      straddle(true);
      let replaced = 0;
      const through = {
        ...rewriteFs,
        rename: (from: string, to: string): void => {
          if (replaced++ >= allowed) throw new Error('killed');
          rewriteFs.rename(from, to);
        },
      };
      await new Sweeper(through, () => new Pace(1.5, 0)).sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
      const left = await box.load();
      expect(left).toEqual(allowed === 0 ? spansOf(...[0, 1, 2, 3].map(call)) : spansOf(...[1, 2, 3].map(call)));
      await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
      expect([...(await box.load())].every((span) => left.has(span))).toBe(true);
    },
  );
});

describe('a sweep whose process is killed', () => {
  test('leaves every call whole or gone, at each replaced file, and the next one takes up what it left', async () => {
    const { records } = call(0);
    newBox().write(made.process, [
      [...records.slice(0, 2), ...call(1).records, ...call(2).records],
      [...records.slice(2, 4), ...call(3).records, ...call(5).records],
      [...records.slice(4), ...call(4).records, ...call(8).records],
    ]);
    const states: TestDirectory[] = [];
    const noteState = (): void => {
      const state = new TestDirectory();
      boxes.push(state);
      states.push(state);
      fsNow.cpSync(box.dir, state.dir, { recursive: true, preserveTimestamps: true });
      // The one that holds the claims is gone in this state.
      for (const name of fsNow.readdirSync(join(state.dir, 'claims'))) {
        const path = join(state.dir, 'claims', name);
        writeFileSync(path, readFileSync(path, 'utf8').replace(`"pid":${process.pid},`, '"pid":4190001,'));
      }
    };
    const through = {
      ...rewriteFs,
      rename: (from: string, to: string): void => {
        noteState();
        rewriteFs.rename(from, to);
        noteState();
      },
    };
    const kept = spansOf(call(2), call(5), call(8));
    const keepBytes = (await bytesOf(call(2), call(5), call(8))) + 2500;
    await new Sweeper(through, () => new Pace(1.5, 0)).sweep(box.scope({ keepBytes }), NOW);
    expect(await box.load()).toEqual(kept);
    expect(states).toHaveLength(6);
    for (const state of states) {
      const left = await state.load();
      expect([...kept].every((span) => left.has(span))).toBe(true);
      expect(await sweeper().sweep(state.scope({ keepBytes }), NOW)).toMatchObject({ isBusy: false });
      expect(await state.load()).toEqual(kept);
      expect(state.paths.filter((path) => !path.endsWith('.obxs'))).toEqual([]);
    }
  });
});

describe('a process that died', () => {
  test('leaves its open call to the last', async () => {
    const died = makeCalls([{}, { open: true }, { status: 400 }]);
    newBox().write(died.process, [died.calls.flatMap(({ records }) => records)]);
    const [whole, open, bad] = died.calls as [MadeCall, MadeCall, MadeCall];
    await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
    expect(await box.load()).toEqual(spansOf(open, bad));
    expect(whole.spanId).not.toBe('');
  });
});

describe('files that are left alone', () => {
  const one = (): SegmentRecord[] => call(0).records;

  test('are those of a process that lives', async () => {
    newBox().write(made.process, [one()], { pid: process.ppid, startUnixMs: Date.now() });
    await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW);
    expect(box.paths).toHaveLength(1);
  });

  test('are not those of an earlier process of the same number', async () => {
    newBox().write(made.process, [one()], { pid: process.ppid, startUnixMs: 1_000 });
    await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW);
    expect(box.paths).toHaveLength(0);
  });

  test.each([
    ['an hour', 3600_000, 1],
    ['two days', 2 * DAY_MS, 0],
  ])('are those of another host that were idle for %s, or not', async (_, idleMs, left) => {
    newBox().write(made.process, [one()], { host: 'elsewhere', modifiedMs: NOW - idleMs });
    await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW);
    expect(box.paths).toHaveLength(left);
  });

  test('are those behind links', async () => {
    newBox().write(made.process, [one()]);
    const elsewhere = newBox();
    const [target = ''] = elsewhere.write(made.process, [one()]);
    const other = new TestDirectory();
    boxes.push(other);
    symlinkSync(join(target, '..'), join(other.dir, 'segments', '2020-01-02'));
    mkdirSync(join(other.dir, 'segments', '2020-01-03'));
    symlinkSync(target, join(other.dir, 'segments', '2020-01-03', target.split('/').at(-1) ?? ''));
    await sweeper().sweep(other.scope({ keepBytes: 0 }), NOW);
    expect(readFileSync(target).length).toBeGreaterThan(0);
  });
});

describe('a file that is damaged, torn or of a newer release', () => {
  const spoil = {
    damaged: (bytes: Uint8Array): Uint8Array => bytes.with(Math.floor(bytes.length / 2), 0xff),
    torn: (bytes: Uint8Array): Uint8Array => bytes.subarray(0, bytes.length - 30),
    newer: (bytes: Uint8Array): Uint8Array => bytes.with(8, 9),
  };

  test.each(['damaged', 'torn', 'newer'] as const)('is not rewritten, and goes whole and last: %s', async (kind) => {
    newBox().write(
      made.process,
      [
        [...call(0).records, ...call(1).records],
        [...call(3).records, ...call(2).records],
      ],
      { raw: (bytes, n) => (n === 0 ? spoil[kind](bytes) : bytes) },
    );
    const [bad = '', good = ''] = box.paths;
    const before = readFileSync(bad);
    await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
    expect(readFileSync(bad)).toEqual(before);
    expect(statSync(good).size).toBeGreaterThan(0);
    await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW);
    expect(box.paths).toEqual([]);
  });
});

describe('age', () => {
  test('takes what is older, failed or not, and nothing else', async () => {
    newBox().write(
      made.process,
      [
        [...call(0).records, ...call(2).records],
        [...call(3).records, ...call(5).records],
      ],
      { modifiedMs: NOW - 30 * DAY_MS - 500 },
    );
    const result = await sweeper().sweep(box.scope({ maxAgeMs: 30 * DAY_MS }), NOW);
    expect(await box.load()).toEqual(spansOf(call(3), call(5)));
    expect(result.losses.dir_age).toMatchObject({ unsent: 2 });
    await sweeper().sweep(box.scope({ maxAgeMs: 30 * DAY_MS }), NOW + 5000);
    expect(box.paths).toEqual([]);
  });

  test('leaves a call whose last records are young enough', async () => {
    const { records } = call(0);
    newBox().write(made.process, [records.slice(0, 3), records.slice(3)], { modifiedMs: NOW - 30 * DAY_MS - 500 });
    await sweeper().sweep(box.scope({ maxAgeMs: 30 * DAY_MS }), NOW);
    expect(await box.load()).toEqual(spansOf(call(0)));
  });
});

describe('a sweep beside others', () => {
  test('does nothing while another one is at work, and goes on where one was killed', async () => {
    newBox().write(made.process, [call(0).records, call(1).records]);
    mkdirSync(join(box.dir, 'claims'), { mode: 0o700 });
    const claim = join(box.dir, 'claims', '.sweep.json');
    const content = { token: 'a'.repeat(32), kind: 'sweep', pid: process.ppid, host: '', threadId: 0 };
    const host = box.paths[0]?.split('/').at(-1)?.split('-')[0] ?? '';
    writeFileSync(claim, JSON.stringify({ ...content, host }), { mode: 0o600 });
    expect(await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW)).toMatchObject({ isBusy: true, freedBytes: 0 });
    expect(box.paths).toHaveLength(2);
    writeFileSync(claim, JSON.stringify({ ...content, host, pid: 4_190_001 }), { mode: 0o600 });
    const leftover = join(box.dir, 'segments', '2020-01-01', '.sweep-0011');
    writeFileSync(leftover, 'half');
    expect(await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW)).toMatchObject({ isBusy: false });
    expect(box.paths).toEqual([]);
  });

  test('shares the work with one that starts at the same time', async () => {
    newBox().write(
      made.process,
      made.calls.map(({ records }) => records),
    );
    const keepBytes = Math.floor(box.sizeBytes / 2);
    const results = await Promise.all([1, 2, 3].map(() => sweeper().sweep(box.scope({ keepBytes }), NOW)));
    expect(results.filter(({ isBusy }) => !isBusy)).toHaveLength(1);
    expect(box.sizeBytes).toBeLessThanOrEqual(keepBytes);
    await box.load();
  });

  test('leaves to a recovery what it works on', async () => {
    newBox().write(made.process, [call(0).records]);
    const name =
      box.paths[0]
        ?.split('/')
        .at(-1)
        ?.replace(/-0\.obxs$/, '') ?? '';
    mkdirSync(join(box.dir, 'claims'), { mode: 0o700 });
    const content = {
      token: 'b'.repeat(32),
      kind: 'recover',
      pid: process.ppid,
      threadId: 0,
      host: name.split('-')[0],
    };
    writeFileSync(join(box.dir, 'claims', `${name}.json`), JSON.stringify(content), { mode: 0o600 });
    await sweeper().sweep(box.scope({ keepBytes: 0 }), NOW);
    expect(box.paths).toHaveLength(1);
  });

  test('lets a reader that has the old file open read on', async () => {
    newBox().write(made.process, [[...call(0).records, ...call(2).records]]);
    const [path = ''] = box.paths;
    const before = readFileSync(path);
    const handle = openSync(path, 'r');
    await sweeper().sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
    expect(statSync(path).size).toBeLessThan(before.length);
    const read = Buffer.alloc(before.length);
    expect(readSync(handle, read, 0, read.length, 0)).toBe(before.length);
    expect(read).toEqual(before);
  });

  test('does not undo what somebody else changed meanwhile', async () => {
    newBox().write(made.process, [[...call(0).records, ...call(2).records]]);
    const [path = ''] = box.paths;
    const through = {
      ...rewriteFs,
      open: (async (...args: Parameters<typeof fs.open>) => {
        appendFileSync(path, 'changed');
        return fs.open(...args);
      }) as typeof fs.open,
    };
    await new Sweeper(through, () => new Pace(1.5, 0)).sweep(box.scope({ keepBytes: box.sizeBytes - 10 }), NOW);
    expect(readFileSync(path, 'latin1').endsWith('changed')).toBe(true);
    expect(box.paths).toEqual([path]);
  });
});

describe('a full disk', () => {
  test('loses nothing where a file can not be written anew', async () => {
    newBox().write(made.process, [[...call(0).records, ...call(2).records]]);
    const before = await box.load();
    const through = {
      ...rewriteFs,
      open: (async (...args: Parameters<typeof fs.open>) => {
        const handle = await fs.open(...args);
        handle.write = (() => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))) as never;
        return handle;
      }) as typeof fs.open,
    };
    const result = await new Sweeper(through, () => new Pace(1.5, 0)).sweep(
      box.scope({ keepBytes: box.sizeBytes - 10 }),
      NOW,
    );
    expect(result).toMatchObject({ freedBytes: 0, failures: { count: 1, message: 'no space' } });
    expect(result.losses.dir_bytes).toMatchObject({ sent: 0, unsent: 0 });
    expect(await box.load()).toEqual(before);
    expect(box.paths).toHaveLength(1);
  });

  test('nor where the copy beside it has no room below the bound', async () => {
    newBox().write(made.process, [[...call(0).records, ...call(2).records]]);
    const scope = box.scope({ keepBytes: box.sizeBytes - 10, maxBytes: box.sizeBytes + 100 });
    expect((await sweeper().sweep(scope, NOW)).freedBytes).toBe(0);
    expect(await box.load()).toEqual(spansOf(call(0), call(2)));
  });
});
