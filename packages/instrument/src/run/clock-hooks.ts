/** Hooks in the clocks: `Date`, `performance.now`, `process.hrtime`, argument-less `Intl` dates, `Temporal.Now`. */
import type { CallSites } from './call-site.ts';
import type { DrawPort, Undo } from './ports.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';

const NANO = 1_000_000_000n;

/** Puts the hooks in place. */
export function hookClocks(port: DrawPort, sites: CallSites): Undo {
  const undos: Undo[] = [hookDate(port, sites)];
  undos.push(
    replaceMethod(Object.getPrototypeOf(performance) as object, 'now', (original) => {
      const now: AnyFunction = function now(this: unknown) {
        const real = (): number => Reflect.apply(original, this, []) as number;
        const site = sites.of(now, 'program');
        return site ? port.draw('performance.now', site.at, real) : real();
      };
      return now;
    }),
    hookHrtime(port, sites),
    replaceMethod(process, 'uptime', (original) => {
      const uptime: AnyFunction = function uptime() {
        const site = sites.of(uptime, 'program');
        const real = (): number => original() as number;
        return site ? port.draw('process.uptime', site.at, real) : real();
      };
      return uptime;
    }),
  );
  for (const name of ['format', 'formatToParts']) undos.push(hookIntl(name, port, sites));
  undos.push(hookTemporal(port, sites));
  return undoAll(undos);
}

function hookDate(port: DrawPort, sites: CallSites): Undo {
  const Real = Date;
  const { now } = Real;
  const draw = (source: string, below: AnyFunction): number => {
    const site = sites.of(below, 'program');
    return site ? port.draw(source, site.at, now) : now();
  };
  const construct: AnyFunction = (target: typeof Date, args: unknown[], newTarget: unknown) => {
    const constructed = newTarget === Hooked ? target : newTarget;
    const given = args.length === 0 ? [draw('new Date', construct)] : args;
    return Reflect.construct(target, given, constructed as typeof Date);
  };
  const apply: AnyFunction = () => new Real(draw('Date', apply)).toString();
  const Hooked: typeof Date = new Proxy(Real, { construct, apply });
  const undoNow = replaceMethod(Real, 'now', () => {
    const hookedNow: AnyFunction = () => draw('Date.now', hookedNow);
    return hookedNow;
  });
  const constructor = Object.getOwnPropertyDescriptor(Real.prototype, 'constructor');
  Object.defineProperty(Real.prototype, 'constructor', { ...constructor, value: Hooked });
  const before = Object.getOwnPropertyDescriptor(globalThis, 'Date');
  Object.defineProperty(globalThis, 'Date', { ...before, value: Hooked });
  return () => {
    undoNow();
    if (constructor) Object.defineProperty(Real.prototype, 'constructor', constructor);
    if (before && globalThis.Date === Hooked) Object.defineProperty(globalThis, 'Date', before);
  };
}

/** One source for both forms: nanoseconds. */
function hookHrtime(port: DrawPort, sites: CallSites): Undo {
  const realBigint = process.hrtime.bigint.bind(process.hrtime);
  return replaceMethod(process, 'hrtime', (original) => {
    const hrtime: AnyFunction = function hrtime(since?: [number, number]) {
      const site = sites.of(hrtime, 'program');
      // What is no pair is the platform's to complain about.
      if (!site || (since !== undefined && !Array.isArray(since))) return original(since);
      const nano = port.draw('process.hrtime', site.at, realBigint);
      const from = since ? BigInt(since[0]) * NANO + BigInt(since[1]) : 0n;
      const passed = nano - from;
      const seconds = passed / NANO - (passed % NANO < 0n ? 1n : 0n);
      return [Number(seconds), Number(passed - seconds * NANO)];
    };
    const bigint: AnyFunction = () => {
      const site = sites.of(bigint, 'program');
      return site ? port.draw('process.hrtime', site.at, realBigint) : realBigint();
    };
    // Copied onto the hook with the original's other members, unless it is there.
    Object.defineProperty(original, 'bigint', { configurable: true, writable: true, enumerable: true, value: bigint });
    return hrtime;
  });
}

function hookIntl(name: string, port: DrawPort, sites: CallSites): Undo {
  const prototype = Intl.DateTimeFormat.prototype as object;
  const { now } = Date;
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  if (!before?.configurable) return () => undefined;
  const timeOf = (given: unknown, below: AnyFunction): unknown => {
    if (given !== undefined) return given;
    const site = sites.of(below, 'program');
    return site ? port.draw(`Intl.DateTimeFormat.${name}`, site.at, now) : given;
  };
  if (before.get) {
    // `format` is an accessor whose function is bound to its formatter: one for each, as without.
    const made = new WeakMap<object, AnyFunction>();
    const { get } = before;
    Object.defineProperty(prototype, name, {
      ...before,
      get(this: object) {
        let hooked = made.get(this);
        if (!hooked) {
          const bound = get.call(this) as AnyFunction;
          const own: AnyFunction = (date?: unknown) => bound(timeOf(date, own));
          hooked = own;
          made.set(this, hooked);
        }
        return hooked;
      },
    });
    return () => Object.defineProperty(prototype, name, before);
  }
  return replaceMethod(prototype, name, (original) => {
    const hooked: AnyFunction = function formatted(this: unknown, date?: unknown) {
      return Reflect.apply(original, this, [timeOf(date, hooked)]) as unknown;
    };
    return hooked;
  });
}

/** Every `Temporal.Now` function goes back to one instant. */
function hookTemporal(port: DrawPort, sites: CallSites): Undo {
  const temporal = (
    globalThis as { Temporal?: { Now?: object; Instant?: { fromEpochNanoseconds(n: bigint): object } } }
  ).Temporal;
  const now = temporal?.Now as Record<string, AnyFunction> | undefined;
  if (!now || !temporal?.Instant) return () => undefined;
  const { Instant } = temporal;
  const instant = now['instant'] as AnyFunction;
  const zoneId = now['timeZoneId'] as AnyFunction;
  const nano = (): bigint => (instant() as { epochNanoseconds: bigint }).epochNanoseconds;
  const draw = (below: AnyFunction): object => {
    const site = sites.of(below, 'program');
    return Instant.fromEpochNanoseconds(site ? port.draw('Temporal.Now', site.at, nano) : nano());
  };
  const zoned = (below: AnyFunction, zone: unknown): Record<string, AnyFunction> => {
    const at = draw(below) as { toZonedDateTimeISO(z: unknown): Record<string, AnyFunction> };
    return at.toZonedDateTimeISO(zone ?? zoneId());
  };
  const hook = (name: string, make: (below: AnyFunction, zone: unknown) => unknown): Undo =>
    replaceMethod(now, name, () => {
      const hooked: AnyFunction = (zone?: unknown) => make(hooked, zone);
      return hooked;
    });
  return undoAll([
    hook('instant', (below) => draw(below)),
    hook('zonedDateTimeISO', (below, zone) => zoned(below, zone)),
    hook('plainDateTimeISO', (below, zone) => zoned(below, zone)['toPlainDateTime']?.()),
    hook('plainDateISO', (below, zone) => zoned(below, zone)['toPlainDate']?.()),
    hook('plainTimeISO', (below, zone) => zoned(below, zone)['toPlainTime']?.()),
  ]);
}
