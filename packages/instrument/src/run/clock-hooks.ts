/** Hooks in the clocks: `Date`, `performance.now`, `process.hrtime`, argument-less `Intl` dates, `Temporal.Now`. */
import type { CallSites } from './call-site.ts';
import type { DrawPort, Undo } from './ports.ts';
import { type AnyFunction, dressAs, replaceMethod, undoAll } from './replace.ts';

const NANO = 1_000_000_000n;

/** Puts the hooks in place. */
export function hookClocks(port: DrawPort, sites: CallSites): Undo {
  const undos: Undo[] = [];
  undos.push(
    replaceMethod(Object.getPrototypeOf(performance) as object, 'now', (original) => {
      const { now } = {
        now(this: unknown): number {
          const real = (): number => Reflect.apply(original, this, []) as number;
          const site = sites.of(now, 'program');
          return site ? port.draw('performance.now', site.at, real) : real();
        },
      };
      return now;
    }),
    hookHrtime(port, sites),
    replaceMethod(process, 'uptime', (original) => {
      const uptime: AnyFunction = () => {
        const site = sites.of(uptime, 'program');
        const real = (): number => original() as number;
        return site ? port.draw('process.uptime', site.at, real) : real();
      };
      return uptime;
    }),
  );
  for (const name of ['format', 'formatToParts']) undos.push(hookIntl(name, port, sites));
  // Last: the others ask the platform's clock.
  undos.push(hookTemporal(port, sites), hookDate(port, sites));
  return undoAll(undos);
}

function hookDate(port: DrawPort, sites: CallSites): Undo {
  const Real = Date;
  const { now } = Real;
  const draw = (source: string, below: AnyFunction): number => {
    const site = sites.of(below, 'program');
    return site ? port.draw(source, site.at, now) : now();
  };
  const make = function (...args: unknown[]): unknown {
    if (new.target === undefined) return new Real(draw('Date', make)).toString();
    const given = args.length === 0 ? [draw('new Date', make)] : args;
    return Reflect.construct(Real, given, new.target === make ? Real : new.target);
  };
  make.prototype = Real.prototype;
  const undoNow = replaceMethod(Real, 'now', () => {
    const hookedNow: AnyFunction = () => draw('Date.now', hookedNow);
    return hookedNow;
  });
  // Bound functions print as the platform's do, and proxies as proxies.
  const Hooked = make.bind(undefined) as unknown as typeof Date;
  dressAs(Hooked as unknown as AnyFunction, Real as unknown as AnyFunction);
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
  const { bigint: realBigint } = process.hrtime;
  // On the platform's function, for who has taken it before; it goes from there to the one that takes its place.
  const undoBigint = replaceMethod(process.hrtime, 'bigint', () => {
    const bigint: AnyFunction = () => {
      const site = sites.of(bigint, 'program');
      return site ? port.draw('process.hrtime', site.at, realBigint) : realBigint();
    };
    return bigint;
  });
  const undo = replaceMethod(process, 'hrtime', (original) => {
    const hrtime: AnyFunction = (since?: [number, number]) => {
      const site = sites.of(hrtime, 'program');
      // What is no pair is the platform's to complain about.
      if (!site || (since !== undefined && (!Array.isArray(since) || since.length !== 2))) return original(since);
      const nano = port.draw('process.hrtime', site.at, realBigint);
      const seconds = Number(nano / NANO) - (since?.[0] ?? 0);
      const rest = Number(nano % NANO) - (since?.[1] ?? 0);
      return rest < 0 ? [seconds - 1, rest + Number(NANO)] : [seconds, rest];
    };
    return hrtime;
  });
  return undoAll([undoBigint, undo]);
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
    const { get: original } = before;
    const { get } = {
      get(this: object): AnyFunction {
        const known = made.get(this);
        if (known) return known;
        const bound = original.call(this) as AnyFunction;
        const own: AnyFunction = (date?: unknown) => bound(timeOf(date, own));
        dressAs(own, bound);
        made.set(this, own);
        return own;
      },
    };
    dressAs(get, original);
    Object.defineProperty(prototype, name, { ...before, get });
    return () => Object.defineProperty(prototype, name, before);
  }
  return replaceMethod(prototype, name, (original) => {
    const { formatted } = {
      formatted(this: unknown, date?: unknown): unknown {
        return Reflect.apply(original, this, [timeOf(date, formatted)]) as unknown;
      },
    };
    return formatted;
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
