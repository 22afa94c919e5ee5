/** What is kept of calls that are sampled, where it stands meanwhile, and what is left of the others. */
import * as nodeFs from 'node:fs';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectRecords, decodeSegment } from '@orangebox/codec';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { SegmentFs } from './segment-directory.ts';
import type { CallSpanFacts } from './spans.ts';
import {
  answer,
  bytes,
  chatRequest,
  openExchange,
  play,
  readRecords,
  responseText,
  type Script,
  segmentPaths,
  snapshotOf,
  spansThatNote,
  type TestRecorder,
  testRecorder,
} from './testing/scripted-exchange.ts';
import type { CallContext } from './wire-events.ts';

let open: TestRecorder[] = [];
const start: typeof testRecorder = (...args) => {
  const made = testRecorder(...args);
  open.push(made);
  return made;
};
afterEach(() => {
  for (const made of open.splice(0)) made.dispose();
  vi.useRealTimers();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const saying = (text: string): Script => ({ requestChunks: [chatRequest([{ role: 'user', content: text }])] });
const failing = (text: string): Script => ({ ...saying(text), status: 400, responseChunks: [bytes(`failed ${text}`)] });
const inTrace = (traceId: string): Partial<CallContext> => ({
  inbound: { traceId, spanId: 'b'.repeat(16), sampled: true, route: 'POST /chat/7' },
});

/** Every byte below the directory. */
function everything(dir: string): string {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

const sizeOf = (dir: string): number => segmentPaths(dir).reduce((sum, path) => sum + statSync(path).size, 0);

/** Records by series, as readers take them. */
function series(dir: string): ReturnType<typeof collectRecords>[] {
  const bySeries = new Map<string, string[]>();
  for (const path of segmentPaths(dir)) {
    const name = path.replace(/-\d+\.obxs$/, '');
    bySeries.set(name, [...(bySeries.get(name) ?? []), path]);
  }
  return [...bySeries.values()].map((paths) =>
    collectRecords(paths.flatMap((path) => [...decodeSegment(readFileSync(path))].map(({ record }) => record))),
  );
}

describe('errors alone', () => {
  it('are kept whole, of the others not a byte stays, and all have their span', async () => {
    const ended: CallSpanFacts[] = [];
    const box = start({ ORANGEBOX_SAMPLE: '0' }, { spans: spansThatNote(ended) });
    for (let i = 0; i < 5; i++) {
      play(box.recorder, saying(`mark-good-${i}`));
      play(box.recorder, failing(`mark-bad-${i}`));
      await turn();
    }
    const records = box.finish();
    expect(records.calls).toHaveLength(5);
    records.calls.forEach((call, i) => {
      const snapshot = snapshotOf(records, call);
      expect(snapshot.digest).toBe(call.digest);
      expect(responseText(snapshot)).toBe(`failed mark-bad-${i}`);
    });
    const text = everything(box.dir);
    expect(text).toContain('mark-bad-4');
    expect(text).not.toContain('mark-good');
    expect(records.open).toEqual([]);
    expect(records.dropped.get('not_sampled')).toMatchObject({ count: 5 });
    expect(ended).toHaveLength(10);
    const reasons = ended.map(({ attributes }) => attributes['orangebox.snapshot.fidelity.reason'] ?? 'kept');
    expect(reasons.filter((reason) => reason === 'not_sampled')).toHaveLength(5);
    for (const { attributes, status } of ended) {
      expect(attributes['gen_ai.usage.output_tokens'] ?? attributes['error.type']).toBeDefined();
      if (status.code === 'unset') expect(attributes['orangebox.snapshot.key'] ?? '').toBe('');
    }
    expect(box.warnings).toEqual([]);
  });

  it('stand on the disk while they are open, and are read like a segment', async () => {
    const box = start({ ORANGEBOX_LEVEL: 'errors' });
    const exchange = openExchange(box.recorder, saying('mark-open'));
    exchange.responseHead({ status: 200, statusText: 'OK', headers: [], atNano: 1, delivery: 1 });
    exchange.responseChunk(bytes(`mark-half ${'z'.repeat(10_000)}`), 2, 2);
    exchange.responseChunk(bytes('what may begin a secret'), 3, 3);
    await turn();
    const [journal] = series(box.dir);
    expect(journal?.open).toHaveLength(1);
    expect(journal?.open[0]?.requestEnd).toBeDefined();
    expect(Buffer.from(journal?.open[0]?.responseChunks[0]?.bytes ?? []).toString()).toMatch(/^mark-half z+$/);
    exchange.end({ ending: 'complete', stage: 'done' }, 3);
    expect(box.finish().calls).toEqual([]);
    expect(everything(box.dir)).not.toContain('mark');
  });

  it('forget what is not kept beside one that is still open, before its file goes', async () => {
    const box = start({ ORANGEBOX_SAMPLE: '0' });
    const stream = openExchange(box.recorder, saying('mark-stream'));
    play(box.recorder, saying('mark-other'));
    await turn();
    await turn();
    const [journal] = series(box.dir).filter(({ exchanges }) => exchanges.size > 0);
    expect(journal?.exchanges.size).toBe(2);
    expect(journal?.open.map(({ start: s }) => s.exchangeId)).toEqual([1]);
    answer(stream, { status: 500, end: { ending: 'cut', stage: 'response_body' } });
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    expect(everything(box.dir)).not.toContain('mark-other');
  });
});

it('keeps the journal small beside a stream that stays open, and the stream exact', async () => {
  const box = start({ ORANGEBOX_SAMPLE: '0' });
  const stream = openExchange(box.recorder, saying('the stream'));
  stream.responseHead({ status: 200, statusText: 'OK', headers: [], atNano: 1, delivery: 1 });
  let expected = '';
  let peak = 0;
  const filler = 'mark-filler '.repeat(2000);
  for (let i = 0; i < 300; i++) {
    expected += `piece ${i};`;
    stream.responseChunk(bytes(`piece ${i};`), i + 2, i + 2);
    play(box.recorder, saying(filler));
    await turn();
    peak = Math.max(peak, sizeOf(box.dir));
  }
  expect(peak).toBeLessThan(7 * 1024 * 1024);
  // Every piece came, in order and once, whatever was moved.
  await turn();
  const journals = series(box.dir).filter(({ open: left }) => left.length > 0);
  expect(journals).toHaveLength(1);
  const onDisk = journals[0]?.open[0]?.responseChunks.map((chunk) => Buffer.from(chunk.bytes).toString()).join('');
  expect(onDisk).toBe(expected);
  stream.end({ ending: 'cut', stage: 'response_body', error: new Error('cut') }, 10_000);
  const records = box.finish();
  expect(records.calls).toHaveLength(1);
  const snapshot = snapshotOf(records, records.calls[0]);
  expect(snapshot.digest).toBe(records.calls[0]?.digest);
  expect(responseText(snapshot)).toBe(expected);
  expect(everything(box.dir)).not.toContain('mark-filler');
  expect(sizeOf(box.dir)).toBeLessThan(100_000);
}, 30_000);

describe('bytes that memory has no room for', () => {
  const whole = 'x'.repeat(300_000);

  it('come back from the journal, also after they moved', async () => {
    const box = start({ ORANGEBOX_SAMPLE: '0', ORANGEBOX_MEMORY_BYTES: '64k' });
    const stream = openExchange(box.recorder, { ...saying('mark'), context: { place: {} } });
    stream.responseHead({ status: 500, statusText: 'no', headers: [], atNano: 1, delivery: 1 });
    for (let i = 0; i < 30; i++) stream.responseChunk(bytes(whole.slice(i * 10_000, (i + 1) * 10_000)), i + 2, i + 2);
    for (let i = 0; i < 250; i++) {
      play(box.recorder, saying('filler '.repeat(4000)));
      await turn();
    }
    expect(box.recorder.stats().reliefs).toBeGreaterThan(0);
    expect(sizeOf(box.dir)).toBeLessThan(5 * 1024 * 1024);
    stream.end({ ending: 'complete', stage: 'done' }, 5000);
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    expect(records.calls[0]?.fidelity).toEqual({ level: 'exact' });
    const snapshot = snapshotOf(records, records.calls[0]);
    expect(snapshot.digest).toBe(records.calls[0]?.digest);
    expect(responseText(snapshot)).toBe(whole);
    expect(box.recorder.stats().heldBytes).toBe(0);
  });

  it('are gone with their snapshot promised to nobody when the journal was removed', () => {
    const box = start({ ORANGEBOX_SAMPLE: '0', ORANGEBOX_MEMORY_BYTES: '64k' });
    const stream = openExchange(box.recorder, { ...saying('mark'), context: { place: {} } });
    stream.responseHead({ status: 500, statusText: 'no', headers: [], atNano: 1, delivery: 1 });
    for (let i = 0; i < 30; i++) stream.responseChunk(bytes(whole.slice(0, 10_000)), i + 2, i + 2);
    for (const path of segmentPaths(box.dir)) nodeFs.unlinkSync(path);
    stream.end({ ending: 'complete', stage: 'done' }, 5000);
    const [call] = box.finish().calls;
    expect(call?.fidelity).toEqual({ level: 'partial', reason: 'no_storage' });
    expect(call?.key).toBeUndefined();
  });
});

it('keeps a failed call from memory where the journal could not be written, and tells the disk once', () => {
  let fails = true;
  const fs: SegmentFs = {
    ...nodeFs,
    writevSync: ((fd: number, buffers: Uint8Array[]) => {
      if (fails) throw Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC' });
      return nodeFs.writevSync(fd, buffers);
    }) as typeof nodeFs.writevSync,
  };
  const box = start({ ORANGEBOX_SAMPLE: '0' }, { fs });
  const exchange = openExchange(box.recorder, saying('mark'));
  fails = false;
  answer(exchange, { status: 500 });
  const records = box.finish();
  expect(records.calls[0]?.fidelity).toEqual({ level: 'exact' });
  expect(snapshotOf(records, records.calls[0]).digest).toBe(records.calls[0]?.digest);
  expect(box.warnings).toHaveLength(1);
});

describe('traces', () => {
  // The xor of the words decides: low ones are kept first.
  const kept = `${'0'.repeat(7)}1`.padEnd(32, '0');
  const gone = 'f'.repeat(8).padEnd(32, '0');
  const tool = (traceId: string, more: object = {}) => ({
    name: 'look_up',
    args: ['mark-argument'],
    context: { scope: [], place: undefined },
    startUnixNano: 1_800_000_000_000_000_000n,
    endUnixNano: 1_800_000_000_001_000_000n,
    trace: { traceId, spanId: 'c'.repeat(16) },
    ...more,
  });

  it('are kept whole or not at all, with their tools', () => {
    const box = start({ ORANGEBOX_SAMPLE: '0.5' });
    for (const traceId of [kept, gone, kept, gone]) {
      play(box.recorder, { context: inTrace(traceId) });
      box.recorder.tool(tool(traceId));
    }
    const records = box.finish();
    expect(records.calls.map(({ trace }) => trace.traceId)).toEqual([kept, kept]);
    expect(records.tools.map(({ trace }) => trace.traceId)).toEqual([kept, kept]);
    expect(records.dropped.get('not_sampled')?.count).toBe(4);
  });

  it('are told from the beginning where nothing but the ratio counts: no journal is made', async () => {
    const written: string[] = [];
    const fs: SegmentFs = {
      ...nodeFs,
      openSync: ((path: string, ...rest: [string]) => {
        written.push(path);
        return nodeFs.openSync(path, ...rest);
      }) as typeof nodeFs.openSync,
    };
    const box = start({ ORANGEBOX_SAMPLE: '{"ratio":0.5,"errors":false}' }, { fs });
    play(box.recorder, { ...failing('mark-gone'), context: inTrace(gone) });
    await turn();
    expect(written).toEqual([]);
    play(box.recorder, { ...saying('mark-kept'), context: inTrace(kept) });
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    expect(written).toHaveLength(1);
    expect(everything(box.dir)).not.toContain('mark-gone');
  });

  it('keep their failed and slow tools', () => {
    const box = start({ ORANGEBOX_SAMPLE: '{"ratio":0,"slowMs":1000}' });
    box.recorder.tool(tool(gone));
    box.recorder.tool(tool(gone, { error: new Error('broken') }));
    box.recorder.tool(tool(gone, { endUnixNano: 1_800_000_001_000_000_000n }));
    const { tools } = box.finish();
    expect(tools.map((t) => t.error?.message)).toEqual(['broken', undefined]);
    expect(tools.every(({ key }) => key !== undefined)).toBe(true);
  });

  it('are chosen by the rules that fit', () => {
    const rules = [
      { route: 'POST /chat/*', ratio: 1 },
      { model: 'gpt-test', metadata: { tenant: 'acme' }, ratio: 1 },
    ];
    const box = start({ ORANGEBOX_SAMPLE: JSON.stringify({ ratio: 0, rules }) });
    play(box.recorder, { ...saying('by route'), context: inTrace(gone) });
    const session = { id: 's', metadata: { tenant: 'acme' } };
    play(box.recorder, { ...saying('by tenant'), context: { session } });
    play(box.recorder, { ...saying('by nothing'), context: { session: { id: 't', metadata: { tenant: 'other' } } } });
    box.finish();
    const text = everything(box.dir);
    expect(text).toContain('by route');
    expect(text).toContain('by tenant');
    expect(text).not.toContain('by nothing');
  });
});

it('keeps all attempts of a call that failed once, or none', () => {
  const place = {};
  const attempts = (box: TestRecorder, last: number): void => {
    play(box.recorder, { ...saying('again'), status: 503, context: { place } });
    play(box.recorder, { ...saying('again'), status: last, context: { place } });
  };
  const box = start({ ORANGEBOX_SAMPLE: '0' });
  attempts(box, 200);
  attempts(box, 500);
  const records = box.finish();
  expect(records.calls).toHaveLength(1);
  expect(records.calls[0]?.exchangeIds).toEqual([3, 4]);
  expect(snapshotOf(records, records.calls[0]).digest).toBe(records.calls[0]?.digest);
  expect(readRecords(box.dir).filter(({ type }) => type === 'exchangeStart')).toHaveLength(2);
});

it('leaves a small directory after 2,000 calls of which one in a hundred is kept', async () => {
  const box = start({ ORANGEBOX_SAMPLE: '0.01' });
  const filler = 'y'.repeat(1000);
  let peak = 0;
  for (let i = 0; i < 2000; i++) {
    play(box.recorder, { ...saying(filler), context: { place: {} } });
    await turn();
    if (i % 50 === 0) peak = Math.max(peak, sizeOf(box.dir));
  }
  const records = box.finish();
  expect(records.calls.length).toBeGreaterThan(5);
  expect(records.calls.length).toBeLessThan(45);
  expect(records.dropped.get('not_sampled')?.count).toBe(2000 - records.calls.length);
  for (const call of records.calls) expect(snapshotOf(records, call).digest).toBe(call.digest);
  expect(sizeOf(box.dir)).toBeLessThan(45 * 6000);
  expect(peak).toBeLessThan(5 * 1024 * 1024);
}, 30_000);

describe('a level that changes', () => {
  it('holds for what begins after, and is taken by each exchange for itself', () => {
    const box = start();
    const { recorder } = box;
    const first = openExchange(recorder, saying('mark-first'));
    recorder.setLevel?.('metadata');
    const second = openExchange(recorder, saying('mark-second'));
    recorder.setLevel?.('errors');
    const third = openExchange(recorder, saying('mark-third'));
    recorder.setLevel?.('off');
    expect(recorder.level?.()).toBe('off');
    expect(recorder.stats().mode).toBe('off');
    const fourth = openExchange(recorder, saying('mark-fourth'));
    recorder.setLevel?.('full');
    for (const exchange of [fourth, third, second, first]) answer(exchange);
    play(recorder, failing('mark-fifth'));
    const records = box.finish();
    const keyed = records.calls.map(({ exchangeIds, key }) => [exchangeIds, key !== undefined]);
    expect(keyed).toEqual([
      [[2], false],
      [[1], true],
      [[4], true],
    ]);
    const text = everything(box.dir);
    for (const word of ['first', 'fifth']) expect(text).toContain(`mark-${word}`);
    for (const word of ['second', 'third', 'fourth']) expect(text).not.toContain(`mark-${word}`);
    for (const call of records.calls) expect(snapshotOf(records, call).digest).toBe(call.digest);
  });

  it('is taken from the control file within a second, for tools too', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
    const box = start();
    play(box.recorder, saying('mark-before'));
    writeFileSync(join(box.dir, 'level'), 'metadata\n');
    vi.setSystemTime(Date.now() + 1000);
    play(box.recorder, saying('mark-after'));
    box.recorder.tool({
      name: 'look_up',
      args: ['mark-argument'],
      context: { scope: [], place: undefined },
      startUnixNano: 1n,
      endUnixNano: 2n,
      trace: { traceId: 'a'.repeat(32), spanId: 'c'.repeat(16) },
    });
    const records = box.finish();
    expect(records.calls.map(({ key }) => key !== undefined)).toEqual([true, false]);
    expect(records.tools.map(({ key }) => key)).toEqual([undefined]);
    expect(everything(box.dir)).not.toMatch(/mark-after|mark-argument/);
  });

  it('brings bodies back to a program that was started without', () => {
    const box = start({ ORANGEBOX_LEVEL: 'metadata' });
    play(box.recorder);
    box.recorder.setLevel?.('full');
    play(box.recorder);
    expect(box.finish().calls.map(({ key }) => key !== undefined)).toEqual([false, true]);
  });

  it('between two attempts keeps no half of a call', () => {
    const place = {};
    const box = start();
    play(box.recorder, { ...saying('again'), status: 503, context: { place } });
    box.recorder.setLevel?.('metadata');
    play(box.recorder, { ...saying('again'), context: { place } });
    const records = box.finish();
    expect(records.calls).toHaveLength(1);
    expect(records.calls[0]).toMatchObject({ fidelity: { level: 'partial', reason: 'no_storage' } });
    expect(records.calls[0]?.key).toBeUndefined();
    expect(snapshotOf(records, records.calls[0]).digest).toBe(records.calls[0]?.digest);
  });
});
