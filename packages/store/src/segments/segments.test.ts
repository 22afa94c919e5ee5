import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { snapshotKey } from '@orangebox/schema';
import { openStore } from '../open-store.ts';
import type { ListFilter, SnapshotStore, StoredEntry } from '../store.ts';
import { DEAD_PID, newSpanId, temporaryDirectory, TestSegments } from '../testing/write-segments.ts';
import { createSegmentStore } from './segment-store.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function directory(): string {
  const { path, remove } = temporaryDirectory();
  cleanups.push(remove);
  return path;
}

async function all(store: SnapshotStore, filter: ListFilter = { order: 'oldest' }): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = [];
  for await (const entry of store.list(filter)) entries.push(entry);
  return entries;
}

const day = Date.UTC(2026, 10, 30, 12);

describe('a series of segment files', () => {
  it('is read as one, also where a call begins in one file and ends in the next', async () => {
    const path = directory();
    const segments = new TestSegments(path, { startMs: day });
    const first = segments.call();
    const split = segments.call({
      tamper: (records) => {
        const [start, ...rest] = records;
        if (start) segments.write(start);
        segments.rotate();
        return rest;
      },
    });
    segments.close();
    const store = createSegmentStore(path);
    expect((await all(store)).map((entry) => entry.key)).toEqual([snapshotKey(first), snapshotKey(split)]);
    expect(await store.get(snapshotKey(split))).toEqual(split);
  });

  it('says that a call is lost when the file with its beginning is gone, and keeps the others', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    segments.call();
    const split = segments.call({
      tamper: (records) => {
        const [start, ...rest] = records;
        if (start) segments.write(start);
        const gone = segments.path;
        segments.rotate();
        rmSync(gone);
        return rest;
      },
    });
    const whole = segments.call();
    segments.close();
    const store = createSegmentStore(path);
    const entries = await all(store);
    expect(entries.map(({ status }) => status)).toEqual(['lost', 'stored']);
    await expect(store.get(snapshotKey(split))).rejects.toMatchObject({ code: 'OBX_SNAPSHOT_LOST' });
    expect(await store.get(snapshotKey(whole))).toEqual(whole);
    expect(await all(store, { status: 'lost' })).toHaveLength(1);
  });

  it('finds a call that is lost in the segments among the objects', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    const call = segments.call();
    const file = segments.close();
    const store = createSegmentStore(path);
    await store.put(call);
    rmSync(file);
    expect(await store.get(snapshotKey(call))).toEqual(call);
    expect(await all(store)).toMatchObject([{ status: 'stored', key: snapshotKey(call) }]);
  });
});

describe('a process that died', () => {
  it('leaves its open calls as partial snapshots with the bytes that came', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    const done = segments.call();
    const open = segments.call({ open: true, attempts: [{ response: ['{"object":"chat.comp', 'letion"'] }] });
    segments.save();
    const store = createSegmentStore(path);
    const [first, second] = await all(store);
    expect(first).toMatchObject({ key: snapshotKey(done), status: 'stored' });
    expect(second).toMatchObject({
      status: 'stored',
      summary: { ending: 'process_died' },
      fidelity: { reason: 'process_died' },
    });
    const snapshot = await store.load(second as StoredEntry);
    expect(snapshot).toMatchObject({ id: open.id, fidelity: { level: 'partial', reason: 'process_died' } });
    expect(snapshot.exchanges[0]).toMatchObject({
      ending: 'process_died',
      response: { status: 200, body: { text: '{"object":"chat.completion"' } },
    });
    expect(second?.key).toBe(snapshotKey(snapshot));
    expect(await store.get(snapshotKey(snapshot))).toEqual(snapshot);
  });

  it('leaves a call that it was moving from its journal to the segment once', () => {
    const path = directory();
    const traceId = 'a'.repeat(32);
    const [ended, open] = [newSpanId(), newSpanId()];
    const segments = new TestSegments(path, { startMs: day });
    segments.call({ traceId, spanId: ended });
    segments.close();
    for (const [at, spanIds] of [
      [day + 1, [ended, open]],
      [day + 2, [open]],
    ] as const) {
      const journal = new TestSegments(path, { startMs: at });
      for (const spanId of spanIds) journal.call({ traceId, spanId, open: true });
      journal.save();
    }
    return expect(all(createSegmentStore(path))).resolves.toMatchObject([
      { trace: { spanId: ended }, fidelity: { level: 'exact' } },
      { trace: { spanId: open }, fidelity: { reason: 'process_died' } },
    ]);
  });

  it('leaves whole frames readable at every length that its file can be cut to', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    const first = segments.call();
    const second = segments.call();
    const file = segments.save();
    const bytes = readFileSync(file);
    for (let size = bytes.length; size >= 0; size -= 97) {
      truncateSync(file, size);
      const store = createSegmentStore(path);
      const entries = await all(store);
      expect(entries.length).toBeLessThanOrEqual(2);
      for (const entry of entries) {
        const snapshot = await store.load(entry);
        const original = [first, second].find(({ id }) => id === snapshot.id);
        if (snapshot.fidelity.level === 'exact') expect(snapshot.exchanges).toEqual(original?.exchanges);
        else expect(snapshot.fidelity.reason).toBe('process_died');
        expect(entry.key).toBe(snapshotKey(snapshot));
      }
    }
    writeFileSync(file, bytes.subarray(0, bytes.length - 3));
    expect(await createSegmentStore(path).problems()).toMatchObject([{ code: 'OBX_SEGMENT_TORN', location: file }]);
  });
});

describe('a process that lives', () => {
  it('shows its open call as open, its whole frames only, and what it adds at the next look', async () => {
    const path = directory();
    const segments = new TestSegments(path, { pid: process.pid, startMs: Date.now() });
    segments.call({ open: true });
    const file = segments.save(5);
    const store = createSegmentStore(path);
    expect(await all(store)).toMatchObject([{ status: 'open' }]);
    expect(await store.problems()).toEqual([]);
    const whole = segments.bytes;
    appendFileSync(file, whole.subarray(whole.length - 5));
    const later = segments.call();
    appendFileSync(file, segments.bytes.subarray(whole.length));
    expect((await all(store)).map(({ status }) => status).sort()).toEqual(['open', 'stored']);
    expect(await store.get(snapshotKey(later))).toEqual(later);
    expect(await store.sizes()).toMatchObject({ liveProcesses: 1, segmentFiles: 1 });
  });

  it('does not count as living when its number was given to a later process', async () => {
    const path = directory();
    const segments = new TestSegments(path, { pid: process.pid, startMs: day - 86_400_000 * 365 * 3 });
    segments.call({ open: true });
    segments.save();
    expect(await all(createSegmentStore(path))).toMatchObject([{ status: 'stored' }]);
  });

  it.skipIf(process.platform !== 'linux')('does not count as living when it only waits for its parent', async () => {
    const parent = spawn('sh', ['-c', '(exec sleep 1) & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [said] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(said.toString());
      const hasEnded = (): boolean => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
      await vi.waitFor(() => expect(hasEnded()).toBe(true), { timeout: 10_000 });
      const path = directory();
      const segments = new TestSegments(path, { pid, startMs: Date.now() });
      segments.call({ open: true });
      segments.save();
      expect(await all(createSegmentStore(path))).toMatchObject([{ fidelity: { reason: 'process_died' } }]);
    } finally {
      parent.kill();
    }
  });

  it('keeps what it is writing when a purge asks for it, and says so', async () => {
    const path = directory();
    const segments = new TestSegments(path, { pid: process.pid, startMs: Date.now() });
    const rotated = segments.call({ session: { id: 's', seq: 0, basis: 'declared' } });
    segments.rotate();
    segments.call({ session: { id: 's', seq: 1, basis: 'declared' } });
    const file = segments.save();
    const before = statSync(file).ino;
    const result = await createSegmentStore(path).delete({ sessionId: 's' });
    expect(result).toMatchObject({ deleted: 1, kept: [{ session: { seq: 1 } }] });
    expect(statSync(file).ino).toBe(before);
    expect(await createSegmentStore(path).get(snapshotKey(rotated))).toBeUndefined();
  });

  it('keeps what a quiet process of another host may go on writing, for a day', async () => {
    const path = directory();
    const segments = new TestSegments(path, { host: 'container-of-a-shared-volume' });
    segments.call({ session: { id: 's', seq: 0, basis: 'declared' } });
    const file = segments.save();
    const lastWritten = (hoursAgo: number): void => {
      const time = Date.now() / 1000 - hoursAgo * 3600;
      utimesSync(file, time, time);
    };
    lastWritten(1);
    expect(await createSegmentStore(path).delete({ sessionId: 's' })).toMatchObject({ deleted: 0, kept: [{}] });
    lastWritten(25);
    expect(await createSegmentStore(path).delete({ sessionId: 's' })).toMatchObject({ deleted: 1, kept: [] });
  });
});

describe('damage', () => {
  it('costs the call it hits and no other, and is reported', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    const first = segments.call();
    const start = segments.bytes.length;
    const second = segments.call({ attempts: [{ response: ['a body that will be changed'] }] });
    const third = segments.call();
    const file = segments.close();
    const bytes = readFileSync(file);
    const at = bytes.indexOf('will be changed', start);
    bytes[at] = 0x57;
    writeFileSync(file, bytes);
    const store = createSegmentStore(path);
    expect(await all(store)).toHaveLength(3);
    for (const call of [first, third]) expect(await store.get(snapshotKey(call))).toEqual(call);
    await expect(store.get(snapshotKey(second))).rejects.toMatchObject({
      code: 'OBX_SNAPSHOT_DIGEST',
      hint: expect.any(String),
    });
  });

  it('in a record of a call leaves the others readable', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    segments.call();
    const third = segments.call();
    const file = segments.close();
    const bytes = readFileSync(file);
    const at = bytes.indexOf('"exchangeIds"');
    bytes.fill(0xff, at, at + 40);
    writeFileSync(file, bytes);
    const store = createSegmentStore(path);
    expect(await store.get(snapshotKey(third))).toEqual(third);
    expect(await store.problems()).toMatchObject([{ code: 'OBX_SEGMENT_DAMAGED' }]);
  });

  it('of another kind is said in words: another format, a newer version, no permission', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    const good = segments.call();
    segments.close();
    const newer = new TestSegments(path, { threadId: 1 });
    newer.call();
    const newerFile = newer.close();
    const bytes = readFileSync(newerFile);
    bytes.writeUInt32LE(99, 8);
    writeFileSync(newerFile, bytes);
    const alien = new TestSegments(path, { threadId: 2 }).save();
    writeFileSync(alien, 'GIF89a and more');
    const store = createSegmentStore(path);
    expect(await all(store)).toMatchObject([{ key: snapshotKey(good) }]);
    const codes = (await store.problems()).map(({ code }) => code).sort();
    expect(codes).toEqual(['OBX_SEGMENT_MAGIC', 'OBX_SEGMENT_VERSION']);
    await expect(openStore(`${path}/nowhere`)).rejects.toMatchObject({ code: 'OBX_STORE_NOT_FOUND' });
    // Root may read everything, so only others see this one.
    if (process.getuid?.() !== 0) {
      chmodSync(path, 0);
      await expect(openStore(path)).rejects.toMatchObject({ code: 'OBX_STORE_UNREADABLE' });
      chmodSync(path, 0o700);
    }
  });
});

describe('a purge', () => {
  it('leaves no byte of a purged call in any file, and every other call whole', async () => {
    const path = directory();
    const segments = new TestSegments(path);
    const session = { id: 'gone', seq: 0, basis: 'declared' as const };
    const keep = segments.call();
    segments.call({ session, attempts: [{ requestBody: 'SECRETREQUEST', response: ['SECRETANSWER'] }] });
    segments.tool({ name: 'x', arguments: 'SECRETARGUMENT' }, { session });
    segments.rotate();
    segments.call({ session, attempts: [{ requestBody: 'SECRETREQUEST', response: ['SECRETANSWER'] }] });
    const keepToo = segments.call();
    const file = segments.close();
    const store = createSegmentStore(path);
    const sizeBefore = statSync(file).size;
    expect(await store.delete({ sessionId: 'gone' })).toMatchObject({ deleted: 3, kept: [] });
    expect((await all(store)).map((entry) => entry.key)).toEqual([snapshotKey(keep), snapshotKey(keepToo)]);
    for (const call of [keep, keepToo]) expect(await store.get(snapshotKey(call))).toEqual(call);
    const files = [file, file.replace('-1.obxs', '-0.obxs')];
    for (const name of files) {
      expect(readFileSync(name).includes('SECRET')).toBe(false);
      expect(statSync(name).mode & 0o777).toBe(0o600);
    }
    expect(statSync(file).size).toBeLessThan(sizeBefore);
    expect(await store.problems()).toEqual([]);
    await store.delete({ untilUnixMs: Date.now() + 1e12 });
    for (const name of files) expect(existsSync(name)).toBe(false);
  });
});

it('joins a session that goes on in another process by its conversation', async () => {
  const path = directory();
  const ask = { role: 'user', content: 'How is the weather?' };
  const answer = { role: 'assistant', content: 'Hello there' };
  const one = new TestSegments(path, { startMs: day, pid: DEAD_PID });
  one.call({
    session: { id: 'inferred-1', seq: 0, basis: 'inferred' },
    attempts: [{ requestBody: JSON.stringify({ model: 'm', messages: [ask] }) }],
  });
  one.close();
  const two = new TestSegments(path, { startMs: day + 60_000, pid: DEAD_PID + 1 });
  two.call({
    session: { id: 'inferred-2', seq: 0, basis: 'inferred' },
    startMs: day + 60_000,
    attempts: [
      {
        requestBody: JSON.stringify({
          model: 'm',
          messages: [ask, answer, { role: 'user', content: 'And tomorrow?' }],
        }),
      },
    ],
  });
  two.call({
    session: { id: 'inferred-3', seq: 0, basis: 'inferred' },
    startMs: day + 61_000,
    attempts: [
      { requestBody: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Something else' }] }) },
    ],
  });
  two.close();
  const store = createSegmentStore(path);
  expect((await all(store)).map((entry) => entry.session?.id)).toEqual(['inferred-1', 'inferred-1', 'inferred-3']);
  expect(await all(store, { sessionId: 'inferred-1' })).toHaveLength(2);
});

it('says what the recording processes dropped', async () => {
  const path = directory();
  for (const threadId of [0, 1]) {
    const segments = new TestSegments(path, { threadId });
    segments.write({ type: 'dropped', reason: 'disk_full', count: 1 });
    segments.write({ type: 'dropped', reason: 'disk_full', count: 3, message: 'no space left' });
    segments.close();
  }
  expect(await createSegmentStore(path).dropped()).toEqual([
    { reason: 'disk_full', count: 6, message: 'no space left' },
  ]);
});
