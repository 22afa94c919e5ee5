import { afterEach, describe, expect, it } from 'vitest';
import {
  chatRequest,
  chatResponse,
  play,
  snapshotOf,
  type TestRecorder,
  testRecorder,
  type Script,
} from './testing/scripted-exchange.ts';

let box: TestRecorder;
afterEach(() => box.dispose());

interface Turn {
  ask: string;
  say: string;
}

/** Plays a conversation call by call; each call sends all that was said before. */
function converse(turns: Turn[], context: Script['context'] = {}): (() => void)[] {
  const history: object[] = [];
  return turns.map(({ ask, say }) => () => {
    history.push({ role: 'user', content: ask });
    play(box.recorder, { context, requestChunks: [chatRequest([...history])], responseChunks: [chatResponse(say)] });
    history.push({ role: 'assistant', content: say });
    box.recorder.stats();
  });
}

const turns = (name: string, count: number): Turn[] =>
  Array.from({ length: count }, (_, i) => ({ ask: `${name} asks ${i}`, say: `${name} hears ${i}` }));

describe('a session that nobody declared', () => {
  it('is the conversation that each call continues, as one trace under its first call', () => {
    box = testRecorder();
    for (const call of converse(turns('a', 7))) call();
    const { calls } = box.finish();
    expect(new Set(calls.map((c) => c.session?.id)).size).toBe(1);
    expect(calls.map((c) => c.session?.seq)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(calls.every((c) => c.session?.basis === 'inferred')).toBe(true);
    expect(new Set(calls.map((c) => c.trace.traceId)).size).toBe(1);
    expect(calls[0]?.trace.parentSpanId).toBeUndefined();
    expect(calls.slice(1).every((c) => c.trace.parentSpanId === calls[0]?.trace.spanId)).toBe(true);
  });

  it('is kept apart from 19 others that run between its calls', () => {
    box = testRecorder();
    const all = Array.from({ length: 20 }, (_, i) => converse(turns(`agent ${i}`, 4)));
    for (let turn = 0; turn < 4; turn++) for (const calls of all) calls[turn]?.();
    const { calls } = box.finish();
    const bySession = new Map<string | undefined, number[]>();
    for (const call of calls) {
      bySession.set(call.session?.id, [...(bySession.get(call.session?.id) ?? []), (call.exchangeIds[0] ?? 0) % 20]);
    }
    expect(bySession.size).toBe(20);
    for (const agents of bySession.values()) expect(agents).toEqual(Array(4).fill(agents[0]));
    expect(new Set(calls.map((c) => c.trace.traceId)).size).toBe(20);
  });

  it('forks where one answer is continued twice', () => {
    box = testRecorder();
    const first = { role: 'user', content: 'begin' };
    const said = { role: 'assistant', content: 'begun' };
    play(box.recorder, { requestChunks: [chatRequest([first])], responseChunks: [chatResponse('begun')] });
    for (const more of ['left', 'right']) {
      play(box.recorder, { requestChunks: [chatRequest([first, said, { role: 'user', content: more }])] });
    }
    const { calls } = box.finish();
    expect(new Set(calls.map((c) => c.session?.id)).size).toBe(1);
    expect(calls.map((c) => c.session?.seq)).toEqual([0, 1, 2]);
  });

  it('prefers the equal conversation of its own place', () => {
    box = testRecorder();
    const places = [{}, {}];
    const both = places.map((place) => converse(turns('same', 2), { place }));
    for (const calls of both) calls[0]?.();
    for (const calls of both) calls[1]?.();
    const records = box.finish();
    const ids = records.calls.map((c) => c.session?.id);
    expect(ids[2]).toBe(ids[0]);
    expect(ids[3]).toBe(ids[1]);
    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('a declared session', () => {
  it('wins, counts its calls and carries user and metadata', () => {
    box = testRecorder();
    const context = { session: { id: 'order-7', userId: 'u1', metadata: { shop: 'x' } } };
    for (const call of [...converse(turns('a', 2), context), ...converse(turns('b', 1), context)]) call();
    const records = box.finish();
    expect(records.calls.map((c) => c.session)).toEqual(
      [0, 1, 2].map((seq) => ({ id: 'order-7', seq, basis: 'declared', userId: 'u1' })),
    );
    expect(snapshotOf(records, records.calls[0]).metadata).toEqual({ shop: 'x' });
  });

  it('keeps tags as JSON has them, and its id where they have no JSON form', () => {
    box = testRecorder();
    const metadata: Record<string, unknown> = { at: new Date(0), ratio: Number.NaN, nothing: undefined, list: [1] };
    const play1 = (tags: unknown): void => {
      const context = { session: { id: 'order-7', metadata: tags } } as Script['context'];
      for (const call of converse(turns('a', 1), context)) call();
    };
    play1(metadata);
    (metadata['list'] as number[]).push(2);
    play1({ count: 1n });
    const records = box.finish();
    const [first, second] = records.calls.map((call) => snapshotOf(records, call));
    expect(first?.metadata).toEqual({ at: '1970-01-01T00:00:00.000Z', ratio: null, list: [1] });
    expect(second?.metadata).toBeUndefined();
    expect(records.calls.map(({ session, digest }) => [session?.id, digest])).toEqual([
      ['order-7', first?.digest],
      ['order-7', second?.digest],
    ]);
  });
});

it('a call with a parent keeps its parent', () => {
  box = testRecorder();
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  for (const call of converse(turns('a', 2), { parent })) call();
  const { calls } = box.finish();
  expect(calls.every((c) => c.trace.traceId === parent.traceId && c.trace.parentSpanId === parent.spanId)).toBe(true);
});

it('an inbound request is the parent of the calls made for it', () => {
  box = testRecorder();
  const inbound = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), sampled: true };
  for (const call of converse(turns('a', 1), { inbound })) call();
  expect(box.finish().calls[0]?.trace).toMatchObject({ traceId: inbound.traceId, parentSpanId: inbound.spanId });
});
