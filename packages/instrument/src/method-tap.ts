/** Noting calls of a method on one instance, so that the program cannot tell. */
import { ownFile } from './abort-origin.ts';

ownFile();

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** What to do around a call; neither may throw, `before` may replace arguments in place. */
export interface MethodNotes {
  before?: (args: unknown[]) => void;
  after?: (result: unknown, args: unknown[]) => void;
}

/**
 * Puts an own method over an inherited (or own) one of this instance: it notes, calls on with the same `this`, and hands
 * back the same result or error. Returns false where there is no such method.
 */
export function tapMethod(target: object, name: string, notes: MethodNotes): boolean {
  const original: unknown = (target as { [name: string]: unknown })[name];
  if (typeof original !== 'function') return false;
  const { before, after } = notes;
  const method = original as Method;
  const tapped = function (this: unknown, ...args: unknown[]): unknown {
    before?.(args);
    const result = Reflect.apply(method, this, args);
    after?.(result, args);
    return result;
  };
  Object.defineProperty(tapped, 'name', { value: method.name, configurable: true });
  Object.defineProperty(tapped, 'length', { value: method.length, configurable: true });
  Object.defineProperty(target, name, {
    value: tapped,
    writable: true,
    configurable: true,
    enumerable: false,
  });
  return true;
}
