/** Hooks in the timers: the globals, `node:timers`, `node:timers/promises`, `AbortSignal.timeout`. */
import type { TimerKind } from '@orangebox/schema';
import type { CallSite, CallSites } from './call-site.ts';
import type { TimerPort, Undo } from './ports.ts';
import { promisedTimers } from './promised-timers.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';

const MAX_DELAY_MS = 2_147_483_647;
/** Of `AbortSignal.timeout`: what the platform does not take, it refuses itself. */
const MAX_SIGNAL_DELAY_MS = 4_294_967_295;
const MAKERS: readonly (readonly [name: 'setTimeout' | 'setInterval' | 'setImmediate', kind: TimerKind])[] = [
  ['setTimeout', 'timeout'],
  ['setInterval', 'interval'],
  ['setImmediate', 'immediate'],
];

/** Puts the hooks in place. */
export function hookTimers(port: TimerPort, sites: CallSites): Undo {
  const timers = process.getBuiltinModule('node:timers');
  const promises = process.getBuiltinModule('node:timers/promises') as unknown as Record<string, AnyFunction>;
  const undos: Undo[] = [];
  const realTimeout = timers.setTimeout as AnyFunction;
  const realInterval = timers.setInterval as AnyFunction;
  const realImmediate = timers.setImmediate as AnyFunction;
  const scheduler = promises['scheduler'] as unknown as { wait: AnyFunction; yield: AnyFunction };
  const promised = promisedTimers(
    {
      siteOf: (below) => sites.of(below, 'program'),
      setTimeout: (site, callback, delayMs) => make('timeout', realTimeout, site, callback, delayMs),
      setInterval: (site, callback, delayMs) => make('interval', realInterval, site, callback, delayMs),
      setImmediate: (site, callback) => make('immediate', realImmediate, site, callback, 0),
      clear: (handle) => {
        timers.clearTimeout(handle as NodeJS.Timeout);
        timers.clearImmediate(handle as NodeJS.Immediate);
      },
    },
    {
      setTimeout: promises['setTimeout'] as AnyFunction,
      setInterval: promises['setInterval'] as AnyFunction,
      setImmediate: promises['setImmediate'] as AnyFunction,
      wait: scheduler.wait,
      yield: scheduler.yield,
    },
  );

  function make(
    kind: TimerKind,
    original: AnyFunction,
    site: CallSite | undefined,
    callback: AnyFunction,
    delay: unknown,
    args: unknown[] = [],
  ): object {
    const real = (own: AnyFunction): object => (kind === 'immediate' ? original(own) : original(own, delay)) as object;
    const call = function (this: unknown): void {
      Reflect.apply(callback, this, args);
    };
    // What the platform refuses, it refuses itself.
    if (!site || typeof callback !== 'function') return real(typeof callback === 'function' ? call : callback);
    const delayMs = kind === 'immediate' ? 0 : delayOf(delay);
    return port.make({ kind, delayMs, at: site.at, callback: call, real });
  }

  for (const [name, kind] of MAKERS) {
    undos.push(
      replaceMethod(timers, name, (original) => {
        const hooked: AnyFunction = (callback: AnyFunction, ...rest: unknown[]) => {
          const isImmediate = kind === 'immediate';
          const site = sites.of(hooked, 'program');
          return make(kind, original, site, callback, isImmediate ? 0 : rest[0], isImmediate ? rest : rest.slice(1));
        };
        return hooked;
      }),
      replaceMethod(globalThis, name, () => timers[name as keyof typeof timers] as AnyFunction),
    );
    // Of these, `util.promisify` makes the ones with callbacks.
    undos.push(replaceMethod(promises, name, () => promised[name]));
  }
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate'] as const) {
    undos.push(
      replaceMethod(timers, name, (original) => (handle: unknown) => {
        port.clear(handle);
        return original(handle) as unknown;
      }),
      replaceMethod(globalThis, name, () => timers[name] as AnyFunction),
    );
  }
  const prototype = Object.getPrototypeOf(scheduler) as object;
  undos.push(
    replaceMethod(prototype, 'wait', () => promised.wait),
    replaceMethod(prototype, 'yield', () => promised.yield),
    hookAbortTimeout((below, callback, delayMs) =>
      make('timeout', realTimeout, sites.of(below, 'program'), callback, delayMs),
    ),
  );
  return undoAll(undos);
}

/** As the platform takes a delay. */
function delayOf(delay: unknown): number {
  const ms = Number(delay);
  return ms >= 1 && ms <= MAX_DELAY_MS ? Math.trunc(ms) : 1;
}

/** A signal with a timer that is one of the program's. It does not hold the process. */
function hookAbortTimeout(make: (below: AnyFunction, callback: AnyFunction, delayMs: number) => object): Undo {
  return replaceMethod(AbortSignal, 'timeout', (original) => {
    const { timeout } = {
      timeout(this: unknown, ...args: unknown[]): unknown {
        const [delayMs] = args;
        if (!Number.isInteger(delayMs) || Number(delayMs) < 0 || Number(delayMs) > MAX_SIGNAL_DELAY_MS) {
          return Reflect.apply(original, this, args) as unknown;
        }
        const controller = new AbortController();
        const abort = (): void =>
          controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
        (make(timeout, abort, Number(delayMs)) as NodeJS.Timeout).unref();
        return controller.signal;
      },
    };
    return timeout;
  });
}
