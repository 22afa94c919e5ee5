import { afterEach, expect, it } from 'vitest';
import { createRedactor } from '@orangebox/codec';
import { readConfig } from './config.ts';
import { LeftBehind } from './left-behind.ts';
import type { ShipItem } from './shipper.ts';
import { useTimers } from './timers.ts';

afterEach(() => useTimers(undefined));

const item = (key: string): ShipItem => ({
  key,
  digest: '',
  traceId: '',
  spanId: '',
  spanHead: {},
  sizeBytes: 0,
  readSnapshotJson: () => new Uint8Array(),
});

function leftBehind(env: Record<string, string> = {}) {
  const planned: (() => void)[] = [];
  const offered: ShipItem[] = [];
  const own = { pending: 0 };
  useTimers({
    now: Date.now,
    hrtime: () => process.hrtime(),
    setImmediate,
    clearTimeout,
    setTimeout: (work) => {
      planned.push(work);
      return setTimeout(() => undefined).unref();
    },
  });
  const left = new LeftBehind({
    config: readConfig({ ORANGEBOX_ENDPOINT: 'http://127.0.0.1:1', ...env }, () => {}),
    shipper: {
      offer: (offer) => void offered.push(offer),
      flush: () => Promise.resolve(),
      stats: () => ({ offered: 0, shipped: 0, failed: 0, inFlightBytes: 0, pending: own.pending + offered.length }),
    },
    ownSeries: () => undefined,
    redactor: () => createRedactor({ secrets: [], patterns: [] }),
    count: () => {},
  });
  return { left, planned, offered, own };
}

it('begins once, after the first call, and not at all where ORANGEBOX_RECOVER is off', () => {
  const on = leftBehind();
  on.left.callFinished();
  on.left.callFinished();
  expect(on.planned).toHaveLength(1);
  const off = leftBehind({ ORANGEBOX_RECOVER: 'off' });
  off.left.callFinished();
  expect(off.planned).toEqual([]);
});

it("offers another process' payload when none of its own waits, and tells what became of it", async () => {
  const { left, planned, offered, own } = leftBehind();
  own.pending = 1;
  const sent = left.send(item('a'));
  expect([offered.length, planned.length]).toEqual([0, 1]);
  own.pending = 0;
  planned.shift()?.();
  await Promise.resolve();
  await Promise.resolve();
  expect(offered.map(({ key }) => key)).toEqual(['a']);
  expect([left.acknowledged('own'), left.acknowledged('a'), left.acknowledged('a')]).toEqual([false, true, false]);
  expect(await sent).toEqual({ kind: 'sent' });
});

it('tells of one that was refused, and of one that can not be read back', async () => {
  const { left, offered } = leftBehind();
  const refused = left.send(item('a'));
  expect(left.quarantined('a', 'status 413')).toBe(true);
  expect(await refused).toEqual({ kind: 'refused', reason: 'status 413' });
  // What was answered is pending no more.
  offered.length = 0;
  const lost = left.send(item('b'));
  left.gaveUp('b', 'lost');
  expect(await lost).toEqual({ kind: 'lost' });
});
