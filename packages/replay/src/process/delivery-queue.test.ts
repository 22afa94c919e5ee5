import type { ExchangeRecords } from '@orangebox/codec';
import { describe, expect, it } from 'vitest';
import { DeliveryQueue, type QueueHost } from './delivery-queue.ts';
import type { RunAct, RunEvent } from './run-events.ts';

const a = { start: { method: 'GET', url: 'http://a.example/' } } as unknown as ExchangeRecords;
const b = { start: { method: 'GET', url: 'http://b.example/' } } as unknown as ExchangeRecords;
const chunk = (seq: number, exchange: ExchangeRecords, startsTurn = true): RunEvent =>
  ({ seq, startsTurn, kind: 'chunk', exchange, chunk: {} }) as RunEvent;
const request = (seq: number, exchange: ExchangeRecords): RunAct => ({ seq, kind: 'request', exchange });

/** A queue whose events are noted; `done` settles with the last of them, or with the verdict. */
function queueOf(events: RunEvent[], acts: RunAct[], change: Partial<QueueHost> = {}) {
  const released: number[][] = [];
  let settle: (verdict: RunAct | undefined) => void = () => {};
  const done = new Promise<RunAct | undefined>((resolve) => {
    settle = resolve;
  });
  let count = 0;
  const queue: DeliveryQueue = new DeliveryQueue(
    { events, acts },
    {
      isReady: () => true,
      release(given) {
        released.push(given.map(({ seq }) => seq));
        count += given.length;
        if (count === events.length) settle(undefined);
      },
      nextDraw: () => undefined,
      activity: () => count,
      mayCome: () => false,
      tellIdle: () => false,
      isWorking: () => false,
      pass: () => undefined,
      waitMs: () => 0,
      missing: (act) => settle(act),
      fewerDraws: () => undefined,
      ...change,
    },
  );
  return { queue, released, done };
}

describe('the queue of what comes to a program', () => {
  it('gives in recorded order, and together what came in one turn from one place', async () => {
    const { queue, released, done } = queueOf(
      [chunk(2, a), chunk(3, a, false), chunk(5, b), chunk(6, a, false), chunk(8, a)],
      [],
    );
    queue.start();
    await done;
    expect(released).toEqual([[2, 3], [5], [6], [8]]);
  });

  it('waits for what the program had done by then', async () => {
    const first = request(1, a);
    const second = request(4, b);
    let given: () => void = () => {};
    const released: number[] = [];
    const { queue } = queueOf([chunk(3, a), chunk(6, a)], [first, second], {
      release(events) {
        released.push(...events.map(({ seq }) => seq));
        given();
      },
    });
    const next = (): Promise<void> => new Promise((resolve) => void (given = resolve));
    queue.start();
    await new Promise(setImmediate);
    expect(released).toEqual([]);
    let waits = next();
    queue.did(first);
    await waits;
    await new Promise(setImmediate);
    expect(released).toEqual([3]);
    waits = next();
    queue.did(second);
    await waits;
    expect(released).toEqual([3, 6]);
  });

  it('names the act that a quiescent program has not done', async () => {
    const missing = request(4, b);
    const { queue, done, released } = queueOf([chunk(3, a), chunk(6, a)], [missing]);
    queue.start();
    expect(await done).toBe(missing);
    expect(released).toEqual([[3]]);
  });

  it('goes on without draws that never come, and says where', async () => {
    const fewer: number[] = [];
    const { queue, done, released } = queueOf([chunk(3, a), chunk(6, a)], [], {
      nextDraw: () => 2,
      fewerDraws: ({ seq }) => void fewer.push(seq),
    });
    queue.start();
    await done;
    expect(fewer).toEqual([3]);
    expect(released).toEqual([[3], [6]]);
  });
});

it('holds an event for as long as its time has not come, and takes that for no silence of the program', async () => {
  const waits = [30, 10, 0, 0];
  const asked: number[] = [];
  const { queue, released, done } = queueOf([chunk(1, a), chunk(2, a)], [], {
    waitMs: ({ seq }) => {
      asked.push(seq);
      return seq === 1 ? (waits.shift() ?? 0) : 0;
    },
  });
  queue.start();
  expect(await done).toBeUndefined();
  expect(released).toEqual([[1], [2]]);
  expect(asked).toEqual([1, 1, 1, 2]);
});
