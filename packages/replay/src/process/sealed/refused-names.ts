/** Look-ups of names: every function that asks, those of resolvers that a program makes for itself too. */
import dns from 'node:dns';
import { isIP } from 'node:net';
import { type AnyFunction, membersOf, refusal, type RefusalHost } from './ways-out.ts';

const ASKS = /^(?:lookupService|reverse|resolve\w*)$/;
/** Names that are this machine wherever they are asked for, by RFC 6761. */
const LOOPBACK = /^(?:.+\.)?localhost\.?$/i;

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
    const { lookup } = membersOf(holder);
    if (lookup) membersOf(holder)['lookup'] = lookupOf(lookup, refusing);
  }
}

/** What needs nobody to be asked is answered: servers look up the addresses that they listen on. */
function lookupOf(original: AnyFunction, refusing: AnyFunction): AnyFunction {
  const lookup: AnyFunction = (name: unknown, ...rest: unknown[]) => {
    if (typeof name !== 'string' || name === '' || isIP(name) > 0) return original(name, ...rest) as unknown;
    if (!LOOPBACK.test(name)) return refusing(name, ...rest) as unknown;
    const [options] = rest;
    const family = typeof options === 'object' && options !== null && 'family' in options ? options.family : options;
    return original(family === 6 || family === 'IPv6' ? '::1' : '127.0.0.1', ...rest) as unknown;
  };
  // By one of these, `util.promisify` knows what to give.
  for (const key of Object.getOwnPropertySymbols(original)) {
    Object.defineProperty(lookup, key, Object.getOwnPropertyDescriptor(original, key) ?? {});
  }
  return lookup;
}
