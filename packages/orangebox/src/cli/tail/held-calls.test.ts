import type { StoredEntry } from '@orangebox/store';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HeldCalls } from './held-calls.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function call(n: number, status: StoredEntry['status']): StoredEntry {
  return {
    trace: { traceId: '1'.repeat(32), spanId: String(n).padStart(16, '0'), sampled: true },
    status,
  } as StoredEntry;
}

function holding(waitMs: number): { held: HeldCalls; written: string[] } {
  const written: string[] = [];
  const write = ({ trace, status }: StoredEntry): void => void written.push(`${Number(trace.spanId)} ${status}`);
  return { held: new HeldCalls({ waitMs, write }), written };
}

it('writes a promised call as stored when the store has it in time, and only once', () => {
  const { held, written } = holding(5_000);
  held.offer(call(1, 'promised'));
  held.offer(call(2, 'stored'));
  vi.advanceTimersByTime(4_999);
  held.offer(call(1, 'stored'));
  vi.advanceTimersByTime(60_000);
  expect(written).toEqual(['2 stored', '1 stored']);
});

it('writes it as promised when the time is over, or nothing is waited for any more', () => {
  const { held, written } = holding(5_000);
  held.offer(call(1, 'promised'));
  vi.advanceTimersByTime(3_000);
  held.offer(call(2, 'promised'));
  held.offer(call(1, 'promised'));
  vi.advanceTimersByTime(2_000);
  expect(written).toEqual(['1 promised']);
  held.end();
  vi.advanceTimersByTime(60_000);
  expect(written).toEqual(['1 promised', '2 promised']);
  const direct = holding(0);
  direct.held.offer(call(1, 'promised'));
  expect(direct.written).toEqual(['1 promised']);
});
