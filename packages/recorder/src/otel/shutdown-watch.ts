/**
 * Lets us end our spans before the application's provider stops taking them: many programs call `shutdown()` right after
 * their last call. The provider's `shutdown` and `forceFlush` are wrapped on that one object and do what they did; where it
 * is frozen, on its class, for that one object only. A provider without such a method of its own class (a frozen literal, a
 * wrapper that hides another's `shutdown`) stops unseen.
 */
import { applicationMeterProvider, applicationProvider } from './application-api.ts';

type Method = (...args: unknown[]) => unknown;

/** Wraps each provider it sees once. */
export interface ShutdownWatch {
  /** Looks at the providers of spans and metrics that are registered now. */
  look(): void;
  /** Whether the provider of spans that is registered now may stop unseen. */
  isBlind(): boolean;
  /** Puts the provider's own methods back. */
  undo(): void;
}

/** `drain` runs before each shutdown or flush; it must not throw. */
export function createShutdownWatch(drain: () => void): ShutdownWatch {
  const undos = new Map<object, () => void>();
  const blind = new WeakSet<object>();
  return {
    look() {
      for (const provider of [applicationProvider(), applicationMeterProvider()]) {
        if (!provider || undos.has(provider)) continue;
        const target = provider as unknown as Record<string, unknown>;
        const restore = ['shutdown', 'forceFlush'].map((name) => wrap(target, name, drain));
        if (!restore[0]) blind.add(provider);
        undos.set(provider, () => restore.forEach((undo) => undo?.()));
      }
    },
    isBlind() {
      const provider = applicationProvider();
      return provider !== undefined && blind.has(provider);
    },
    undo() {
      for (const undo of undos.values()) undo();
      undos.clear();
    },
  };
}

/** Undefined where it cannot be done. */
function wrap(provider: Record<string, unknown>, name: string, before: () => void): (() => void) | undefined {
  const original = provider[name];
  if (typeof original !== 'function') return undefined;
  const target = holderOf(provider, name);
  if (!target) return undefined;
  const own = Object.getOwnPropertyDescriptor(target, name);
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    // On its class, others come here too.
    if (target === provider || this === provider) before();
    return (original as Method).apply(this, args);
  };
  Object.defineProperty(target, name, { value: wrapped, configurable: true, writable: true, enumerable: false });
  return () => {
    if (target[name] !== wrapped) return;
    if (own) Object.defineProperty(target, name, own);
    else delete target[name];
  };
}

/** Where a method can be put so that the provider has it: on itself, else in place of the one that it inherits. */
function holderOf(provider: Record<string, unknown>, name: string): Record<string, unknown> | undefined {
  const own = Object.getOwnPropertyDescriptor(provider, name);
  if (Object.isExtensible(provider) && own?.configurable !== false) return provider;
  if (own) return undefined;
  let holder: object | null = Object.getPrototypeOf(provider) as object | null;
  while (holder && !Object.hasOwn(holder, name)) holder = Object.getPrototypeOf(holder) as object | null;
  const inherited = holder ? Object.getOwnPropertyDescriptor(holder, name) : undefined;
  return inherited?.configurable === true && 'value' in inherited ? (holder as Record<string, unknown>) : undefined;
}
