/** Look-ups of names: every function that asks, those of resolvers that a program makes for itself too. */
import dns from 'node:dns';
import { type AnyFunction, membersOf, refusal, type RefusalHost } from './ways-out.ts';

const ASKS = /^(?:lookup|lookupService|reverse|resolve\w*)$/;

/** Replaces them. */
export function refuseNames(host: RefusalHost): void {
  const refuse = (asked: unknown): Error => {
    host.refused(`look-up of ${String(asked)}`);
    return refusal('looks up no name');
  };
  const plain: AnyFunction = (...args: unknown[]) => {
    const error = refuse(args[0]);
    const callback = args.at(-1);
    if (typeof callback !== 'function') throw error;
    process.nextTick(callback as AnyFunction, error);
    return {};
  };
  const promised: AnyFunction = (...args: unknown[]) => Promise.reject(refuse(args[0]));
  for (const [holder, refusing] of [
    [dns, plain],
    [dns.Resolver.prototype, plain],
    [dns.promises, promised],
    [dns.promises.Resolver.prototype, promised],
  ] as const) {
    for (const name of Object.getOwnPropertyNames(holder)) if (ASKS.test(name)) membersOf(holder)[name] = refusing;
  }
}
