import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { CallSites } from './call-site.ts';
import { hookPlatform } from './hook-platform.ts';
import type { Drawn, TimerRequest, Undo } from './ports.ts';

let undo: Undo = () => {};
afterEach(() => undo());

/** Puts hooks in place behind which everything is noted; `values` are given instead of the platform's. */
function hooked(values: Record<string, Drawn> = {}) {
  const drawn: { source: string; at: string }[] = [];
  const made: TimerRequest[] = [];
  undo = hookPlatform({
    sites: new CallSites([], import.meta.dirname),
    draws: {
      draw<T extends Drawn>(source: string, at: string, real: () => T): T {
        drawn.push({ source, at });
        return (values[source] as T | undefined) ?? real();
      },
    },
    timers: {
      make(request) {
        made.push(request);
        return request.real(request.callback);
      },
      clear: () => {},
    },
    children: { spawn: (_child, _start, real) => real(), runSync: (_start, real) => real() },
  });
  return { drawn, made };
}

describe('the hooks of run mode', () => {
  it('give the clock another time, in every form', () => {
    hooked({
      'Date.now': 86_400_000,
      'new Date': 86_400_000,
      Date: 86_400_000,
      'performance.now': 12.5,
      'process.hrtime': 5_000_000_007n,
      'Intl.DateTimeFormat.format': 0,
    });
    expect(Date.now()).toBe(86_400_000);
    expect(new Date().toISOString()).toBe('1970-01-02T00:00:00.000Z');
    expect(Date()).toBe(new Date(86_400_000).toString());
    expect(new Date(5).getTime()).toBe(5);
    expect(performance.now()).toBe(12.5);
    expect(process.hrtime()).toEqual([5, 7]);
    expect(process.hrtime([4, 8])).toEqual([0, 999_999_999]);
    expect(process.hrtime.bigint()).toBe(5_000_000_007n);
    expect(new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format()).toBe('1/1/1970');
  });

  it('leave dates what they are', () => {
    hooked();
    class Own extends Date {}
    expect(new Date()).toBeInstanceOf(Date);
    expect(new Own()).toBeInstanceOf(Own);
    expect(new Date().constructor).toBe(Date);
    expect([Date.name, Date.length, typeof Date.UTC]).toEqual(['Date', 7, 'function']);
    expect(structuredClone(new Date(7))).toEqual(new Date(7));
  });

  it('give what is drawn at random, to memory of any kind too', () => {
    const { drawn } = hooked({
      'Math.random': 0.25,
      'crypto.randomUUID': '00000000-0000-4000-8000-000000000000',
      'crypto.getRandomValues': Buffer.from([1, 0, 2, 0]),
    });
    expect(Math.random()).toBe(0.25);
    expect(randomUUID()).toBe('00000000-0000-4000-8000-000000000000');
    expect([...crypto.getRandomValues(new Uint16Array(2))]).toEqual([1, 2]);
    expect(randomBytes(3)).toHaveLength(3);
    expect(drawn.map(({ source }) => source)).toEqual([
      'Math.random',
      'crypto.randomUUID',
      'crypto.getRandomValues',
      'crypto.randomBytes',
    ]);
    expect(drawn[0]?.at).toMatch(/^hook-platform\.test\.ts:\d+:\d+$/);
  });

  it('see every timer, whatever it was made with', async () => {
    const { made } = hooked();
    await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setImmediate(resolve));
    expect(await sleep(1, 'slept')).toBe('slept');
    expect(await promisify(setTimeout)(1, 'promised')).toBe('promised');
    const signal = AbortSignal.timeout(1);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    expect((signal.reason as DOMException).name).toBe('TimeoutError');
    expect(made.map(({ kind, delayMs }) => `${kind} ${delayMs}`)).toEqual([
      'timeout 1',
      'immediate 0',
      'timeout 1',
      'timeout 1',
      'timeout 1',
    ]);
  });

  it('abort a promised timer as the platform does', async () => {
    hooked();
    const controller = new AbortController();
    const waiting = sleep(60_000, undefined, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError', code: 'ABORT_ERR' });
  });

  it('are gone when they are taken out', () => {
    const before = [Date, Date.now, Math.random, setTimeout, clearTimeout, performance.now, process.hrtime];
    hooked();
    expect([Date, Date.now, Math.random, setTimeout]).not.toEqual(before.slice(0, 4));
    undo();
    undo = () => {};
    const after = [Date, Date.now, Math.random, setTimeout, clearTimeout, performance.now, process.hrtime];
    expect(after.map((one, i) => one === before[i])).toEqual(before.map(() => true));
  });
});
