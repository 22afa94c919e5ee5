import { expect, test } from 'vitest';
import { DeferredQueue } from './deferred-queue.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function queueThatNotes(): { queue: DeferredQueue; done: number[] } {
  const queue = new DeferredQueue((error) => {
    throw error;
  });
  queue.release();
  return { queue, done: [] };
}

test('a piece is done in a turn of its own where few wait, in their order', async () => {
  const { queue, done } = queueThatNotes();
  for (const n of [1, 2, 3]) queue.push(() => void done.push(n));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual([1]);
  await turn();
  await turn();
  expect(done).toEqual([1, 2, 3]);
});

test('what waits stays bounded however many pieces come in a turn', async () => {
  const { queue, done } = queueThatNotes();
  let pushed = 0;
  let most = 0;
  for (let turns = 0; turns < 200; turns++) {
    for (let n = 0; n < 50; n++) {
      const number = pushed++;
      queue.push(() => void done.push(number));
    }
    await turn();
    most = Math.max(most, pushed - done.length);
  }
  expect(most).toBeLessThanOrEqual(200);
  expect(done).toEqual(Array.from({ length: done.length }, (_, n) => n));
});
