/** Noting calls of a method on one instance, so that the program cannot tell. */
import { ownFile } from './abort-origin.ts';

ownFile();

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** What to do around a call; neither may throw, `before` may replace arguments in place. What is taken out is not called any more. */
export interface MethodNotes {
  before?: ((args: unknown[]) => void) | undefined;
  after?: ((result: unknown, args: unknown[]) => void) | undefined;
}

/**
 * Puts an own method over an inherited (or own) one of this instance: it notes, calls on with the same `this`, and hands
 * back the same result or error. Returns false where there is no such method.
 */
export function tapMethod(target: object, name: string, notes: MethodNotes): boolean {
  const tapped = tapInternalMethod(target, name, notes);
  if (!tapped) return false;
  Object.defineProperty(tapped.method, 'name', { value: tapped.original.name, configurable: true });
  Object.defineProperty(tapped.method, 'length', { value: tapped.original.length, configurable: true });
  return true;
}

/**
 * As {@link tapMethod}, for objects that a library keeps to itself: the new method does not look like the old one, which
 * costs more than all else here. Undefined where there is no such method.
 */
export function tapInternalMethod(
  target: object,
  name: string,
  notes: MethodNotes,
): { method: Method; original: Method } | undefined {
  const original: unknown = (target as { [name: string]: unknown })[name];
  if (typeof original !== 'function') return undefined;
  const method = original as Method;
  const tapped = function (this: unknown, ...args: unknown[]): unknown {
    notes.before?.(args);
    const result = Reflect.apply(method, this, args);
    notes.after?.(result, args);
    return result;
  };
  Object.defineProperty(target, name, {
    value: tapped,
    writable: true,
    configurable: true,
    enumerable: false,
  });
  return { method: tapped, original: method };
}
