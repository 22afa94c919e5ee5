import type { ExchangeRecords } from '@orangebox/codec';
import { expect, it } from 'vitest';
import { RecordedPace } from './pace.ts';
import { platform } from './platform.ts';
import type { RunEvent } from './run-events.ts';

const START = '1767000000000000000';
const exchange = {
  start: { startUnixNano: '1767000000100000000' },
  responseHead: { offsetNano: '300000000' },
  end: { offsetNano: '900000000' },
} as unknown as ExchangeRecords;
const event = (more: object): RunEvent => ({ seq: 1, startsTurn: true, ...more }) as RunEvent;

it('has answers wait for their time, or a part of it, and nothing else', () => {
  const { nowMs } = platform;
  let now = 5000;
  platform.nowMs = () => now;
  try {
    const recorded = new RecordedPace(START, 1);
    const fast = new RecordedPace(START, 10);
    expect(recorded.waitMs(event({ kind: 'head', exchange }))).toBe(400);
    expect(recorded.waitMs(event({ kind: 'chunk', exchange, chunk: { offsetNano: 500_000_000 } }))).toBe(600);
    expect(recorded.waitMs(event({ kind: 'end', exchange }))).toBe(1000);
    expect(fast.waitMs(event({ kind: 'end', exchange }))).toBe(100);
    expect(recorded.waitMs(event({ kind: 'timer', timer: {} }))).toBe(0);
    expect(recorded.waitMs(event({ kind: 'child', child: {}, event: {} }))).toBe(0);
    now = 5700;
    expect(recorded.waitMs(event({ kind: 'head', exchange }))).toBe(0);
    expect(recorded.waitMs(event({ kind: 'end', exchange }))).toBe(300);
    const odd = { ...exchange, end: { offsetNano: 'soon' } };
    expect(recorded.waitMs(event({ kind: 'end', exchange: odd }))).toBe(0);
  } finally {
    platform.nowMs = nowMs;
  }
});
