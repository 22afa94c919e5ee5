import { describe, expect, it } from 'vitest';
import { VirtualTimers } from './virtual-timers.ts';

type Handle = NodeJS.Timeout & { close(): Handle; _destroyed: boolean };

/** A timer, and whether it fired. */
function make(
  timers: VirtualTimers,
  kind: 'timeout' | 'interval' | 'immediate',
): { handle: Handle; fired: () => number } {
  let fired = 0;
  const handle = timers.make({
    kind,
    delayMs: 1,
    at: 'app.js:1:1',
    callback: () => void fired++,
    real: (callback) =>
      kind === 'immediate'
        ? setImmediate(callback)
        : kind === 'interval'
          ? setInterval(callback, 1)
          : setTimeout(callback, 1),
  }) as Handle;
  return { handle, fired: () => fired };
}

const firing = (timerId: number) => ({ type: 'timerFired', seq: 1, timerId, kind: 'interval', delayMs: 1 }) as const;

describe('a timer of a replayed program', () => {
  it.each([
    ['clear', (timers: VirtualTimers, handle: Handle) => timers.clear(handle)],
    ['close', (_: VirtualTimers, handle: Handle) => void handle.close()],
    ['its disposal', (_: VirtualTimers, handle: Handle) => handle[Symbol.dispose]()],
    ['its number', (timers: VirtualTimers, handle: Handle) => timers.clear(Number(handle))],
    ['its number as text', (timers: VirtualTimers, handle: Handle) => timers.clear(String(Number(handle)))],
  ])('is gone by %s, the interval of the platform too, and nothing of it is kept', (_name, clear) => {
    const timers = new VirtualTimers();
    const { handle } = make(timers, 'interval');
    expect(timers.waiting(firing(0))).toBeDefined();
    clear(timers, handle);
    expect(timers.waiting(firing(0))).toBeUndefined();
    expect(handle._destroyed).toBe(true);
    expect(timers.sizes).toEqual({ waiting: 0, numbered: 0 });
    // As the platform's: what was cleared is begun by nothing.
    handle.refresh();
    expect(timers.waiting(firing(0))).toBeUndefined();
  });

  it('leaves no number behind when it fires, and can be begun anew', () => {
    const timers = new VirtualTimers();
    const { handle, fired } = make(timers, 'timeout');
    const number = Number(handle);
    expect(timers.sizes).toEqual({ waiting: 1, numbered: 1 });
    timers.waiting(firing(0))?.fire();
    expect(timers.sizes).toEqual({ waiting: 0, numbered: 0 });
    const before = timers.changes;
    handle.refresh();
    expect(timers.changes).toBe(before + 1);
    // Its number is forgotten, as the platform forgets it.
    timers.clear(number);
    timers.waiting(firing(0))?.fire();
    expect(fired()).toBe(2);
    // A number that is asked for when nothing waits is not kept either.
    expect(Number(handle)).toBe(number);
    expect(timers.sizes).toEqual({ waiting: 0, numbered: 0 });
  });

  it('holds the process no more than the platform says, whatever is asked of it', () => {
    const active = (): number =>
      process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate/.test(name)).length;
    const before = active();
    const timers = new VirtualTimers();
    for (const kind of ['timeout', 'interval', 'immediate'] as const) {
      const { handle } = make(timers, kind);
      expect(handle.hasRef()).toBe(true);
      expect(handle.unref().hasRef()).toBe(false);
      expect(handle.ref().hasRef()).toBe(true);
      expect(active()).toBe(before);
      timers.clear(handle);
    }
    expect(active()).toBe(before);
  });

  it('is cleared once, and a foreign handle clears nothing', () => {
    const timers = new VirtualTimers();
    const { handle } = make(timers, 'timeout');
    for (const other of [undefined, null, 7, '7', {}, 'x', setTimeout(() => undefined, 0)]) timers.clear(other);
    expect(timers.sizes.waiting).toBe(1);
    timers.clear(handle);
    const { changes } = timers;
    timers.clear(handle);
    expect(timers.changes).toBe(changes);
  });

  it('of an immediate that is cleared is gone on the platform too', () => {
    const timers = new VirtualTimers();
    const { handle } = make(timers, 'immediate');
    timers.clear(handle);
    expect((handle as unknown as { _destroyed: boolean })._destroyed).toBe(true);
  });
});
