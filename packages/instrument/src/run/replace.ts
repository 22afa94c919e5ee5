/** Puts functions in the place of the platform's, and gives the undo. */
import type { Undo } from './ports.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- any function of the platform
export type AnyFunction = (this: any, ...args: any[]) => any;

/**
 * Replaces a member by what `make` makes of it, with its flags and all own members of the original; nothing where there is
 * none. What stands for a function without a `prototype` has to have none: a method or an arrow function.
 */
export function replaceMethod(holder: object, name: string, make: (original: AnyFunction) => AnyFunction): Undo {
  const before = Object.getOwnPropertyDescriptor(holder, name);
  const original: unknown = (holder as Record<string, unknown>)[name];
  if (typeof original !== 'function' || before?.configurable === false) return () => undefined;
  const made = make(original as AnyFunction);
  dressAs(made, original as AnyFunction);
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: before?.enumerable ?? false,
    writable: before?.writable ?? true,
    value: made,
  });
  return () => {
    if ((holder as Record<string, unknown>)[name] !== made) return;
    if (before) Object.defineProperty(holder, name, before);
    else delete (holder as Record<string, unknown>)[name];
  };
}

/** Gives a function the name, length and other own members of another; symbols that it has are its own. */
export function dressAs(made: AnyFunction, original: AnyFunction): void {
  for (const key of Reflect.ownKeys(original)) {
    if (typeof key === 'symbol' && Object.hasOwn(made, key)) continue;
    const own = Object.getOwnPropertyDescriptor(original, key);
    if (own) Object.defineProperty(made, key, own);
  }
}

/** Replaces an accessor or value by an accessor. */
export function replaceGetter(holder: object, name: string, make: (original: () => unknown) => () => unknown): Undo {
  const before = Object.getOwnPropertyDescriptor(holder, name);
  if (!before?.configurable) return () => undefined;
  const get = make(() => (before.get ? before.get.call(holder) : before.value));
  Object.defineProperty(holder, name, { configurable: true, enumerable: before.enumerable ?? true, get });
  return () => Object.defineProperty(holder, name, before);
}

/** All undos as one, last first. */
export function undoAll(undos: readonly Undo[]): Undo {
  return () => {
    for (const undo of [...undos].reverse()) undo();
  };
}
