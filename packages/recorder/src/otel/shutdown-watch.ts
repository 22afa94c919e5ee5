/**
 * Lets us end our spans before the application's provider stops taking them: many programs call `shutdown()` right after
 * their last call. The provider's `shutdown` and `forceFlush` are wrapped on that one object and do what they did.
 */
import { applicationMeterProvider, applicationProvider } from './application-api.ts';

type Method = (...args: unknown[]) => unknown;

/** Wraps each provider it sees once. */
export interface ShutdownWatch {
  /** Looks at the providers of spans and metrics that are registered now. */
  look(): void;
  /** Puts the provider's own methods back. */
  undo(): void;
}

/** `drain` runs before each shutdown or flush; it must not throw. */
export function createShutdownWatch(drain: () => void): ShutdownWatch {
  const undos = new Map<object, () => void>();
  return {
    look() {
      for (const provider of [applicationProvider(), applicationMeterProvider()]) {
        if (!provider || undos.has(provider)) continue;
        const target = provider as unknown as Record<string, unknown>;
        const restore = ['shutdown', 'forceFlush'].map((name) => wrap(target, name, drain));
        undos.set(provider, () => restore.forEach((undo) => undo()));
      }
    },
    undo() {
      for (const undo of undos.values()) undo();
      undos.clear();
    },
  };
}

function wrap(target: Record<string, unknown>, name: string, before: () => void): () => void {
  const original = target[name];
  const own = Object.getOwnPropertyDescriptor(target, name);
  if (typeof original !== 'function' || !Object.isExtensible(target) || own?.configurable === false) return () => {};
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    before();
    return (original as Method).apply(this, args);
  };
  Object.defineProperty(target, name, { value: wrapped, configurable: true, writable: true, enumerable: false });
  return () => {
    if (target[name] !== wrapped) return;
    if (own) Object.defineProperty(target, name, own);
    else delete target[name];
  };
}
