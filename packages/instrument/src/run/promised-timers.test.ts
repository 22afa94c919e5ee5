/** Promised timers do what the platform's do, whatever they are given. */
import { afterEach, describe, expect, it } from 'vitest';
import { CallSites } from './call-site.ts';
import { hookPlatform } from './hook-platform.ts';
import type { TimerRequest, Undo } from './ports.ts';

let undo: Undo = () => {};
afterEach(() => undo());

/** With hooks in place; the result lists the timers made. */
function hook(): TimerRequest[] {
  const made: TimerRequest[] = [];
  undo = hookPlatform({
    sites: new CallSites([], import.meta.dirname),
    draws: { draw: (_source, _at, real) => real() },
    timers: {
      make(request) {
        made.push(request);
        return request.real(request.callback);
      },
      clear: () => {},
    },
    children: { spawn: (_child, _start, real) => real(), runSync: (_start, real) => real() },
  });
  return made;
}

type Loose = (...args: unknown[]) => unknown;
interface Timers {
  setTimeout: Loose;
  setImmediate: Loose;
  setInterval: (...args: unknown[]) => AsyncGenerator;
  scheduler: { wait: Loose; yield: Loose };
}
const timers = process.getBuiltinModule('node:timers/promises') as unknown as Timers;

/** What happened, and after how many turns of the queue of promises. */
async function outcome(act: () => unknown): Promise<unknown> {
  let ticks = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver || ticks > 50) return;
    ticks++;
    queueMicrotask(count);
  };
  let made: unknown;
  try {
    made = act();
  } catch (error) {
    return { thrown: facts(error) };
  }
  const isPromise = made instanceof Promise;
  const waiting: Promise<unknown> = made instanceof Promise ? made : (made as AsyncGenerator).next();
  queueMicrotask(count);
  const settled = await waiting.then(
    (value: unknown) => ({ value, end: (isOver = true) }),
    (error: unknown) => ({ rejected: facts(error), end: (isOver = true) }),
  );
  if (!isPromise) await (made as AsyncGenerator).return(undefined);
  // Those that wait for a timer wait as long as it takes.
  return { isPromise, ...settled, ticks: ticks > 50 ? 'many' : ticks };
}

function facts(error: unknown): unknown {
  const { name, code, message, cause, constructor } = error as Error & { code?: unknown };
  // The probe of another version's opinion is nobody's cause.
  return { name, code, message, cause, class: constructor.name, keys: Reflect.ownKeys(error as object).sort() };
}

const aborted = AbortSignal.abort('why');
const duck = { aborted: false, addEventListener() {}, removeEventListener() {} };
const odd: { [name: string]: unknown } = {
  nothing: undefined,
  null: null,
  number: 5,
  text: 'x',
  function: () => {},
  list: [],
  'a signal that is a number': { signal: 1 },
  'a signal that is null': { signal: null },
  'a signal that is an object': { signal: {} },
  'a signal that is a function': { signal: () => {} },
  'a signal that was aborted': { signal: aborted },
  'a signal of another make': { signal: duck },
  'a signal with no way to listen': { signal: { aborted: false } },
  'ref that is text': { ref: 'yes' },
  'ref that is null': { ref: null },
  'no ref': { ref: true },
  'both bad': { signal: 1, ref: 1 },
};
const delays: unknown[] = [undefined, 0, -1, 1.5, Number.NaN, '1', 'x', null, true, {}, Symbol.iterator, 1n];

const wordOf = (value: unknown): string => (typeof value === 'number' ? '' : `${typeof value} `) + String(value);

const withOptions: { [name: string]: (options: unknown) => unknown } = {
  setTimeout: (options) => timers.setTimeout(1, 'value', options),
  setImmediate: (options) => timers.setImmediate('value', options),
  setInterval: (options) => timers.setInterval(1, 'value', options),
  'scheduler.wait': (options) => timers.scheduler.wait(1, options),
};
const withDelay: { [name: string]: (delay: unknown) => unknown } = {
  setTimeout: (delay) => timers.setTimeout(delay, 'value'),
  setInterval: (delay) => timers.setInterval(delay, 'value'),
  'scheduler.wait': (delay) => timers.scheduler.wait(delay),
};
const all: [name: string, act: () => unknown][] = [
  ...Object.entries(withOptions).flatMap(([name, act]) =>
    Object.entries(odd).map(([what, options]): [string, () => unknown] => [`${name} with ${what}`, () => act(options)]),
  ),
  ...Object.entries(withDelay).flatMap(([name, act]) =>
    delays.map((delay): [string, () => unknown] => [`${name} of ${wordOf(delay)}`, () => act(delay)]),
  ),
  ['scheduler.yield', () => timers.scheduler.yield()],
  ['scheduler.wait of nobody', () => Reflect.apply(timers.scheduler.wait, undefined, [1])],
  ['scheduler.yield of nobody', () => Reflect.apply(timers.scheduler.yield, undefined, [])],
  ['scheduler.yield of another', () => Reflect.apply(timers.scheduler.yield, {}, [])],
  ['scheduler.yield of an heir', () => (Object.create(timers.scheduler) as Timers['scheduler']).yield()],
  ['a value that is a promise', () => timers.setTimeout(1, Promise.resolve('later'))],
];

/** Of intervals with such delays the platform has to be asked first. */
const isProbed = (name: string): boolean => /^setInterval (?:of (?!undefined|-?\d|NaN)|with list)/.test(name);
const cases = all.filter(([name]) => !isProbed(name));
const probed = all.filter(([name]) => isProbed(name));

describe('promised timers', () => {
  it.each(cases)('do what the platform does: %s', async (_, act) => {
    const expected = await outcome(act);
    hook();
    expect(await outcome(act)).toEqual(expected);
  });

  it.each(probed)('refuse what the platform refuses, a turn later: %s', async (_, act) => {
    const expected = await outcome(act);
    hook();
    expect(await outcome(act)).toEqual({ ...(expected as object), ticks: expect.anything() as unknown });
  });

  it.each(['setTimeout', 'setImmediate', 'setInterval', 'scheduler.wait'])(
    'give up as those of the platform, and as soon: %s',
    async (name) => {
      const act = async (): Promise<unknown> => {
        const controller = new AbortController();
        const waiting = outcome(() => {
          const { signal } = controller;
          if (name === 'setImmediate') return timers.setImmediate('value', { signal });
          if (name === 'scheduler.wait') return timers.scheduler.wait(60_000, { signal });
          const start = name === 'setTimeout' ? timers.setTimeout : timers.setInterval;
          return start(60_000, 'value', { signal });
        });
        controller.abort('enough');
        return waiting;
      };
      const expected = await act();
      expect(expected).toMatchObject({ rejected: { name: 'AbortError', cause: 'enough' } });
      hook();
      expect(await act()).toEqual(expected);
    },
  );

  it('belong to who asked for them, also where they begin later', async () => {
    const made = hook();
    const ticks = timers.setInterval(1, 'tick');
    await timers.setTimeout(1);
    expect((await ticks.next()).value).toBe('tick');
    await ticks.return(undefined);
    expect(made.map(({ kind, at }) => [kind, at.replace(/:\d+:\d+$/, '')])).toEqual([
      ['timeout', 'promised-timers.test.ts'],
      ['interval', 'promised-timers.test.ts'],
    ]);
  });

  it('are seen where their delay is one that the platform takes although it is no number', async () => {
    const platform = await outcome(() => timers.setTimeout('1', 'value'));
    const made = hook();
    expect(await outcome(() => timers.setTimeout('1', 'value'))).toEqual(platform);
    expect(made).toHaveLength((platform as { value?: unknown }).value === 'value' ? 1 : 0);
  });
});
