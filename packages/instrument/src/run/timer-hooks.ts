/** Hooks in the timers: the globals, `node:timers`, `node:timers/promises`, `AbortSignal.timeout`. */
import type { TimerKind } from '@orangebox/schema';
import type { CallSites } from './call-site.ts';
import type { TimerPort, Undo } from './ports.ts';
import { promisedTimers } from './promised-timers.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';

const MAX_DELAY_MS = 2_147_483_647;
const MAKERS: readonly (readonly [name: string, kind: TimerKind])[] = [
  ['setTimeout', 'timeout'],
  ['setInterval', 'interval'],
  ['setImmediate', 'immediate'],
];

/** Puts the hooks in place. */
export function hookTimers(port: TimerPort, sites: CallSites): Undo {
  const timers = process.getBuiltinModule('node:timers');
  const promises = process.getBuiltinModule('node:timers/promises') as unknown as Record<string, AnyFunction>;
  const util = process.getBuiltinModule('node:util');
  const undos: Undo[] = [];
  const realTimeout = timers.setTimeout as AnyFunction;
  const realInterval = timers.setInterval as AnyFunction;
  const realImmediate = timers.setImmediate as AnyFunction;
  const promised = promisedTimers({
    setTimeout: (callback, delayMs) => make('timeout', realTimeout, promised.below, callback, delayMs),
    setInterval: (callback, delayMs) => make('interval', realInterval, promised.below, callback, delayMs),
    setImmediate: (callback) => make('immediate', realImmediate, promised.below, callback, 0),
    clear: (handle) => {
      clearTimeout(handle as NodeJS.Timeout);
      clearImmediate(handle as NodeJS.Immediate);
    },
  });

  function make(
    kind: TimerKind,
    original: AnyFunction,
    below: AnyFunction,
    callback: AnyFunction,
    delay: unknown,
    args: unknown[] = [],
  ): object {
    const site = sites.of(below, 'program');
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
    const custom = promised.byName[name];
    undos.push(
      replaceMethod(timers, name, (original) => {
        const hooked: AnyFunction = (callback: AnyFunction, ...rest: unknown[]) => {
          const isImmediate = kind === 'immediate';
          return make(kind, original, hooked, callback, isImmediate ? 0 : rest[0], isImmediate ? rest : rest.slice(1));
        };
        if (custom && Object.hasOwn(original, util.promisify.custom)) {
          Object.defineProperty(hooked, util.promisify.custom, { configurable: true, enumerable: true, value: custom });
        }
        return hooked;
      }),
      replaceMethod(globalThis, name, () => timers[name as keyof typeof timers] as AnyFunction),
    );
    if (custom) undos.push(replaceMethod(promises, name, () => custom));
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
  const scheduler = (promises as unknown as { scheduler?: object }).scheduler;
  if (scheduler) {
    const prototype = Object.getPrototypeOf(scheduler) as object;
    undos.push(
      replaceMethod(prototype, 'wait', () => promised.wait),
      replaceMethod(prototype, 'yield', () => promised.yield),
    );
  }
  undos.push(hookAbortTimeout((below, callback, delayMs) => make('timeout', realTimeout, below, callback, delayMs)));
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
    const timeout: AnyFunction = function timeout(this: unknown, delayMs: unknown) {
      if (typeof delayMs !== 'number' || !(delayMs >= 0 && delayMs <= Number.MAX_SAFE_INTEGER)) {
        return Reflect.apply(original, this, [delayMs]) as unknown;
      }
      const controller = new AbortController();
      const abort = (): void =>
        controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
      (make(timeout, abort, delayMs) as NodeJS.Timeout).unref();
      return controller.signal;
    };
    return timeout;
  });
}
