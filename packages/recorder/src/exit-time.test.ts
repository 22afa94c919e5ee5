/** The end of a process with more ended calls than there is time for. */
import { afterEach, expect, it } from 'vitest';
import { play, type TestRecorder, testRecorder } from './testing/scripted-exchange.ts';
import { type PlatformTimers, useTimers } from './timers.ts';

const CALLS = 40;
let box: TestRecorder;

/** A clock on which each look takes a millisecond. */
function slowTimers(): PlatformTimers {
  let ms = Date.now();
  return { now: () => ms++, hrtime: () => process.hrtime(), setImmediate, setTimeout, clearTimeout };
}

afterEach(() => {
  box.dispose();
  useTimers(undefined);
});

it('finishes calls for the time that is allowed, and leaves the others whole in the segment', () => {
  box = testRecorder({}, { timers: slowTimers() });
  for (let i = 0; i < CALLS; i++) play(box.recorder);
  box.recorder.flushSync('process_exit', 20);
  const { calls, open, closed } = box.read();
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.length).toBeLessThan(20);
  expect(calls.length + open.length).toBe(CALLS);
  for (const { responseChunks, end } of open) {
    expect(end).toMatchObject({ ending: 'complete' });
    expect(responseChunks).toHaveLength(1);
  }
  expect(closed).toMatchObject({ rotated: false });
});

it('writes everything down though there is no time left', () => {
  box = testRecorder();
  play(box.recorder);
  box.recorder.flushSync('process_exit', 0);
  expect(box.read()).toMatchObject({ calls: [], open: [{ end: { ending: 'complete' } }] });
});

it('does not send for longer than a flush may take, and goes on with what it did not come to', async () => {
  box = testRecorder({}, { timers: slowTimers() });
  for (let i = 0; i < CALLS; i++) play(box.recorder);
  await box.recorder.flush(10);
  const { calls } = box.recorder.stats();
  expect(calls).toBeLessThan(CALLS);
  expect(box.finish().calls).toHaveLength(CALLS);
});
