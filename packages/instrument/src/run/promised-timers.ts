/** `node:timers/promises` on top of timers with callbacks, so that their firing has its place in the order of the run. */
import type { CallSite } from './call-site.ts';
import type { AnyFunction } from './replace.ts';

/** What they are made of; `site`: who asked. */
export interface PlainTimers {
  siteOf(below: AnyFunction): CallSite | undefined;
  setTimeout(site: CallSite | undefined, callback: AnyFunction, delayMs: unknown): object;
  setInterval(site: CallSite | undefined, callback: AnyFunction, delayMs: unknown): object;
  setImmediate(site: CallSite | undefined, callback: AnyFunction): object;
  clear(handle: object): void;
}

/** The functions of the module. */
export interface PromisedTimers {
  setTimeout: AnyFunction;
  setInterval: AnyFunction;
  setImmediate: AnyFunction;
  wait: AnyFunction;
  yield: AnyFunction;
}

/** As far as a signal is one for the platform. */
type Signal = Pick<AbortSignal, 'aborted' | 'reason' | 'addEventListener' | 'removeEventListener'>;

interface Options {
  signal?: Signal | undefined;
  ref?: boolean;
}

/** As the platform's, which it keeps to itself. */
class AbortError extends Error {
  code: string = 'ABORT_ERR';

  constructor(signal: Signal) {
    super('The operation was aborted', { cause: signal.reason });
    this.name = 'AbortError';
  }
}

/** Makes them. `original`: the platform's, which refuses what it does not take by itself. */
export function promisedTimers(timers: PlainTimers, original: PromisedTimers): PromisedTimers {
  const aborted = AbortSignal.abort(new Error('a probe'));
  /** What versions of the platform differ about is asked of it, by what would start nothing. */
  const probed = (delayMs: unknown, options: Options): Options | undefined => {
    if ((delayMs === undefined || typeof delayMs === 'number') && !Array.isArray(options)) return undefined;
    return Object.assign(Array.isArray(options) ? [] : {}, { signal: aborted });
  };
  const once = (start: (fire: () => void) => object, delayMs: unknown, value: unknown, options: Options) => {
    const begin = (): Promise<unknown> => waitOnce(timers, start, value, options);
    const probe = probed(delayMs, options);
    if (!probe) return begin();
    return (original.setTimeout(delayMs, value, probe) as Promise<unknown>).catch((error: unknown) => {
      if (!isProbe(error, aborted)) throw error;
      return begin();
    });
  };
  const setTimeout: AnyFunction = (delayMs?: unknown, value?: unknown, options: unknown = {}) => {
    if (!areOptions(options)) return original.setTimeout(delayMs, value, options) as unknown;
    const site = timers.siteOf(setTimeout);
    return once((fire) => timers.setTimeout(site, fire, delayMs), delayMs, value, options);
  };
  const setImmediate: AnyFunction = (value?: unknown, options: unknown = {}) => {
    if (!areOptions(options)) return original.setImmediate(value, options) as unknown;
    const site = timers.siteOf(setImmediate);
    return once((fire) => timers.setImmediate(site, fire), 0, value, options);
  };
  const setInterval: AnyFunction = (delayMs?: unknown, value?: unknown, options: unknown = {}) => {
    if (!areOptions(options)) return original.setInterval(delayMs, value, options) as unknown;
    const site = timers.siteOf(setInterval);
    const probe = probed(delayMs, options);
    const check =
      probe &&
      (async (): Promise<void> => {
        try {
          await (original.setInterval(delayMs, value, probe) as AsyncGenerator).next();
        } catch (error) {
          if (!isProbe(error, aborted)) throw error;
        }
      });
    return ticks(timers, (tick) => timers.setInterval(site, tick, delayMs), check, value, options);
  };
  const { wait, turn } = {
    wait(this: unknown, delayMs?: unknown, options: unknown = {}): unknown {
      if (!isScheduler(this) || !areOptions(options)) return Reflect.apply(original.wait, this, [delayMs, options]);
      const site = timers.siteOf(wait);
      return once((fire) => timers.setTimeout(site, fire, delayMs), delayMs, undefined, options);
    },
    turn(this: unknown): unknown {
      if (!isScheduler(this)) return Reflect.apply(original.yield, this, []);
      const site = timers.siteOf(turn);
      return once((fire) => timers.setImmediate(site, fire), 0, undefined, {});
    },
  };
  return { setTimeout, setInterval, setImmediate, wait, yield: turn };
}

function isProbe(error: unknown, { reason }: AbortSignal): boolean {
  return error instanceof Error && error.cause === reason;
}

function isScheduler(value: unknown): boolean {
  const { scheduler } = process.getBuiltinModule('node:timers/promises');
  return typeof value === 'object' && value !== null && (value === scheduler || scheduler.isPrototypeOf(value));
}

/** Whether every version of the platform takes them; what it refuses is refused in the form that it has there. */
function areOptions(options: unknown): options is Options {
  if (typeof options !== 'object' || options === null) return false;
  const { signal, ref } = options as { signal?: unknown; ref?: unknown };
  const isSignal =
    signal === undefined ||
    (typeof signal === 'object' && signal !== null && 'aborted' in signal && 'addEventListener' in signal);
  return isSignal && (ref === undefined || typeof ref === 'boolean');
}

function waitOnce(
  timers: PlainTimers,
  start: (fire: () => void) => object,
  value: unknown,
  { signal, ref }: Options,
): Promise<unknown> {
  if (signal?.aborted) return Promise.reject(new AbortError(signal));
  let onAbort: (() => void) | undefined;
  const waiting = new Promise((resolve, reject) => {
    let isOver = false;
    const handle = start(() => {
      isOver = true;
      resolve(value);
    });
    if (ref === false) (handle as { unref?: () => void }).unref?.();
    if (!signal) return;
    onAbort = () => {
      if (isOver) return;
      timers.clear(handle);
      reject(new AbortError(signal));
    };
    signal.addEventListener('abort', onAbort);
  });
  if (!signal || !onAbort) return waiting;
  const listener = onAbort;
  // In as many turns of the queue of promises as the platform takes.
  return new Promise((resolve, reject) => {
    new Promise((pass, fail) => {
      waiting.then(pass, fail);
    })
      .finally(() => signal.removeEventListener('abort', listener))
      .then(resolve, reject);
  });
}

/** Each tick is given once, also those that came while nobody waited. */
async function* ticks(
  timers: PlainTimers,
  start: (tick: () => void) => object,
  check: (() => Promise<void>) | undefined,
  value: unknown,
  { signal, ref }: Options,
): AsyncGenerator {
  if (check) await check();
  if (signal?.aborted) throw new AbortError(signal);
  let due = 0;
  let waiter: ((aborted?: Promise<never>) => void) | undefined;
  const wake = (of?: () => Promise<never>): void => {
    waiter?.(of?.());
    waiter = undefined;
  };
  const handle = start(() => {
    due++;
    wake();
  });
  if (ref === false) (handle as { unref?: () => void }).unref?.();
  const onAbort = (): void => {
    timers.clear(handle);
    wake(() => Promise.reject(new AbortError(signal as Signal)));
  };
  try {
    signal?.addEventListener('abort', onAbort, { once: true });
    while (!signal?.aborted) {
      if (due === 0) {
        await new Promise<unknown>((resolve) => {
          waiter = resolve;
        });
      }
      for (; due > 0; due--) yield value;
    }
    throw new AbortError(signal);
  } finally {
    timers.clear(handle);
    signal?.removeEventListener('abort', onAbort);
  }
}
