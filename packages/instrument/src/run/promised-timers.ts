/** `node:timers/promises` on top of timers with callbacks, so that their firing has its place in the order of the run. */
import type { AnyFunction } from './replace.ts';

/** What they are made of. */
export interface PlainTimers {
  setTimeout(callback: AnyFunction, delayMs: unknown): object;
  setInterval(callback: AnyFunction, delayMs: unknown): object;
  setImmediate(callback: AnyFunction): object;
  clear(handle: object): void;
}

interface Options {
  signal?: AbortSignal;
  ref?: boolean;
}

/** The functions of the module. */
export interface PromisedTimers {
  byName: { readonly [name: string]: AnyFunction };
  wait: AnyFunction;
  yield: AnyFunction;
  /** The function whose caller is the timer's: the one that runs at the moment. */
  below: AnyFunction;
}

function abortError(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' });
}

/** Makes them. */
export function promisedTimers(timers: PlainTimers): PromisedTimers {
  const once = (start: (fire: () => void) => object, value: unknown, options: Options = {}): Promise<unknown> => {
    const { signal, ref } = options;
    if (signal?.aborted) return Promise.reject(abortError(signal));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        timers.clear(handle);
        if (signal) reject(abortError(signal));
      };
      const handle = start(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value);
      });
      if (ref === false) (handle as { unref?: () => void }).unref?.();
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  };
  const setTimeout: AnyFunction = (delayMs?: number, value?: unknown, options?: Options) => {
    promised.below = setTimeout;
    return once((fire) => timers.setTimeout(fire, delayMs), value, options);
  };
  const setImmediate: AnyFunction = (value?: unknown, options?: Options) => {
    promised.below = setImmediate;
    return once((fire) => timers.setImmediate(fire), value, options);
  };
  const wait: AnyFunction = (delayMs?: number, options?: Options) => {
    promised.below = wait;
    return once((fire) => timers.setTimeout(fire, delayMs), undefined, options);
  };
  const turn: AnyFunction = () => {
    promised.below = turn;
    return once((fire) => timers.setImmediate(fire), undefined);
  };
  const setInterval: AnyFunction = (delayMs?: number, value?: unknown, options: Options = {}) => {
    promised.below = setInterval;
    return ticks(timers, delayMs, value, options);
  };
  const promised: PromisedTimers = {
    byName: { setTimeout, setInterval, setImmediate },
    wait,
    yield: turn,
    below: setTimeout,
  };
  return promised;
}

/** Each tick is given once, also those that came while nobody waited. */
async function* ticks(timers: PlainTimers, delayMs: unknown, value: unknown, options: Options): AsyncGenerator {
  const { signal, ref } = options;
  if (signal?.aborted) throw abortError(signal);
  let due = 0;
  let wake: (() => void) | undefined;
  const tick = (): void => {
    due++;
    wake?.();
  };
  const handle = timers.setInterval(tick, delayMs);
  if (ref === false) (handle as { unref?: () => void }).unref?.();
  const onAbort = (): void => wake?.();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) throw abortError(signal);
      if (due === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      for (; due > 0 && !signal?.aborted; due--) yield value;
    }
  } finally {
    timers.clear(handle);
    signal?.removeEventListener('abort', onAbort);
  }
}
