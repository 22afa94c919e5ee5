import { AsyncLocalStorage } from 'node:async_hooks';
import type { ThreadEventRecord } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { HeldThreads } from './held-threads.ts';

const event = (kind: ThreadEventRecord['kind'], worker?: number): ThreadEventRecord => ({
  type: 'threadEvent',
  seq: 1,
  kind,
  ...(worker === undefined ? {} : { worker }),
});

describe('what comes of other threads', () => {
  it('is held for its turn, each sender and kind by itself, in the order in which it came', () => {
    const given: string[] = [];
    const threads = new HeldThreads([event('message', 0)]);
    threads.came('message', 0, () => given.push('first of 0'));
    threads.came('message', 1, () => given.push('of 1'));
    threads.came('message', 0, () => given.push('second of 0'));
    threads.came('message', undefined, () => given.push('of the maker'));
    expect(given).toEqual([]);
    expect(threads.isHere(event('exit', 0))).toBe(false);
    for (const one of [event('message'), event('message', 1), event('message', 0), event('message', 0)]) {
      expect(threads.isHere(one)).toBe(true);
      threads.give(one);
    }
    expect(given).toEqual(['of the maker', 'of 1', 'first of 0', 'second of 0']);
    expect(threads.isHere(event('message', 0))).toBe(false);
  });

  it('is given where it came from: in the context of its port', () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const threads = new HeldThreads([event('message', 0)]);
    context.run('of the port', () => threads.came('message', 0, () => seen.push(context.getStore())));
    context.run('of the queue', () => threads.give(event('message', 0)));
    expect(seen).toEqual(['of the port']);
  });

  it('may still come while its thread lives', () => {
    const threads = new HeldThreads([event('exit', 0)]);
    expect(threads.mayCome(event('message', 0))).toBe(true);
    threads.came('exit', 0, () => {});
    expect([threads.mayCome(event('message', 0)), threads.mayCome(event('message', 1))]).toEqual([false, true]);
    expect(threads.mayCome(event('message'))).toBe(true);
  });

  it('comes when it comes where nothing is on record of it', () => {
    let given = 0;
    new HeldThreads([]).came('message', 0, () => given++);
    expect(given).toBe(1);
  });
});
