/** Hooks in clocks and randomness leave what the program can see of them as it is. */
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CallSites } from './call-site.ts';
import { hookPlatform } from './hook-platform.ts';
import type { Drawn, Undo } from './ports.ts';

const values: { [source: string]: Drawn } = {};
let drawn: string[] = [];
let undo: Undo = () => {};

function hook(): void {
  undo = hookPlatform({
    sites: new CallSites([], import.meta.dirname),
    draws: {
      draw<T extends Drawn>(source: string, _at: string, real: () => T): T {
        const value = real();
        drawn.push(source);
        return (values[source] as T | undefined) ?? value;
      },
    },
    timers: { make: (request) => request.real(request.callback), clear: () => {} },
    children: { spawn: (_child, _start, real) => real(), runSync: (_start, real) => real() },
  });
}

beforeEach(() => {
  drawn = [];
  for (const name of Object.keys(values)) delete values[name];
});
afterEach(() => undo());

/** What comes of it, whatever it is. */
function outcome(act: () => unknown): unknown {
  try {
    return { value: act() };
  } catch (error) {
    const { name, code, message } = error as Error & { code?: unknown };
    return { name, code, message };
  }
}

/** One that passes its arguments on. */
function laterDate(): DateConstructor {
  return class Later extends Date {
    constructor(...args: []) {
      super(...args);
      this.setTime(this.getTime() + 1);
    }
  } as unknown as DateConstructor;
}
const dates: { [name: string]: () => unknown } = {
  'a time': () => new Date(5),
  'a text': () => new Date('2020-01-02T03:04:05Z'),
  'a date': () => new Date(new Date(7)),
  parts: () => new Date(2020, 1, 3, 4, 5, 6, 7),
  'undefined, which is no time': () => new Date(undefined as unknown as number).getTime(),
  null: () => new Date(null as unknown as number),
  'a symbol': () => new Date(Symbol.iterator as unknown as number),
  'Reflect.construct': () => Reflect.construct(Date, [2020, 1]) as unknown,
  'another class': () => Object.getPrototypeOf(Reflect.construct(Date, [5], Map)) === Map.prototype,
  'its constructor': () => new (new Date(3).constructor as DateConstructor)(4),
  'the constructor of its prototype': () => Date.prototype.constructor === Date,
  'of an instance': () => new Date(1).constructor === Date,
  'instanceof, both ways': () => [new Date(1) instanceof Date, {} instanceof Date],
  subclass: () => {
    class Own extends Date {}
    const own = new Own(9);
    return [own instanceof Own, own instanceof Date, own.constructor === Own, own.getTime(), own.toISOString()];
  },
  'a subclass that passes its arguments on': () => {
    const Later = laterDate();
    const [at, now] = [new Later(), Date.now()];
    return [at.constructor === Later, Math.abs(at.getTime() - now) < 1000];
  },
  'static members': () => [Date.UTC(2020, 1), Date.parse('2020-01-01'), Object.getOwnPropertyNames(Date).sort()],
  'as a function': () => [
    typeof Date(),
    Date().length,
    (Date as unknown as (n: number) => string)(5).slice(0, 3) === Date().slice(0, 3),
  ],
  'as a method': () => typeof Date.call({}),
  'its kind': () => [typeof Date, Object.prototype.toString.call(new Date(1)), inspect(Date), inspect(new Date(1))],
  copies: () => [structuredClone(new Date(7)), JSON.stringify(new Date(7)), +new Date(7), `${new Date(7).getTime()}`],
  'of another realm': () =>
    new (process.getBuiltinModule('node:vm').runInNewContext('Date') as DateConstructor)(5).getTime(),
};

const hrtimes: unknown[] = [[0], [1, 2, 3], [], 'x', 5, null, {}];
const crypto = process.getBuiltinModule('node:crypto') as unknown as {
  [name: string]: (...args: unknown[]) => unknown;
};
const fills: { [name: string]: () => unknown } = {
  'randomBytes with no callback': () => crypto['randomBytes']?.(4, 'x'),
  'randomBytes with null': () => crypto['randomBytes']?.(4, null),
  'randomBytes of too many': () => crypto['randomBytes']?.(2 ** 40),
  'randomInt with no callback': () => crypto['randomInt']?.(1, 5, 'x'),
  'randomInt of nothing': () => crypto['randomInt']?.(5, 5),
  'randomFill without a callback': () => crypto['randomFill']?.(Buffer.alloc(4)),
  'randomFill with no callback': () => crypto['randomFill']?.(Buffer.alloc(4), 'x'),
  'randomFill beyond its end': () => crypto['randomFillSync']?.(Buffer.alloc(4), 2, 5),
  'randomFill of text': () => crypto['randomFillSync']?.('x'),
  'getRandomValues of fractions': () => globalThis.crypto.getRandomValues(new Float32Array(1) as unknown as Uint8Array),
  'getRandomValues of too many': () => globalThis.crypto.getRandomValues(new Uint8Array(65_537)),
};

describe('with hooks in the clocks', () => {
  it.each(Object.entries(dates))('a date is what it was: %s', (_, act) => {
    const expected = outcome(act);
    hook();
    expect(outcome(act)).toEqual(expected);
  });

  it('a date without arguments, a subclass of it and the function have the time that is given', () => {
    hook();
    values['new Date'] = 86_400_000;
    values['Date'] = 86_400_000;
    class Own extends Date {}
    const Later = laterDate();
    expect([new Date().getTime(), new Own().getTime(), new Later().getTime()]).toEqual([
      86_400_000, 86_400_000, 86_400_001,
    ]);
    expect(Date()).toBe(new Date(86_400_000).toString());
    expect((Reflect.construct(Date, []) as Date).getTime()).toBe(86_400_000);
  });

  it('a formatter without a date has the time that is given, also one taken from it, and with a date that', () => {
    const expected = new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format(new Date(0));
    hook();
    values['Intl.DateTimeFormat.format'] = 86_400_000;
    values['Intl.DateTimeFormat.formatToParts'] = 86_400_000;
    const { format } = new Intl.DateTimeFormat('en', { timeZone: 'UTC' });
    expect([format(), format(new Date(0)), format(0)]).toEqual(['1/2/1970', expected, expected]);
    const parts = new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).formatToParts();
    expect(parts.map(({ value }) => value).join('')).toBe('1/2/1970');
    expect(outcome(() => format(Number.NaN))).toMatchObject({ name: 'RangeError' });
    // A time that is no date was nobody's draw.
    expect(drawn).toEqual(['Intl.DateTimeFormat.format', 'Intl.DateTimeFormat.formatToParts']);
  });

  it.each(hrtimes)('the platform refuses %o as a time before', (since) => {
    const act = (): unknown => process.hrtime(since as [number, number]);
    const expected = outcome(act);
    expect(expected).toHaveProperty('code');
    hook();
    expect(outcome(act)).toEqual(expected);
    expect(drawn).toEqual([]);
  });

  it('both forms of the fine clock are drawn, and the one of a function taken before', () => {
    const { hrtime } = process;
    hook();
    values['process.hrtime'] = 5_000_000_007n;
    expect([process.hrtime.bigint(), hrtime.bigint()]).toEqual([5_000_000_007n, 5_000_000_007n]);
    const { bigint } = process.hrtime;
    expect(bigint()).toBe(5_000_000_007n);
    expect([process.hrtime(), process.hrtime([4, 8]), process.hrtime([6, 0]), process.hrtime([5, 7])]).toEqual([
      [5, 7],
      [0, 999_999_999],
      [-1, 7],
      [0, 0],
    ]);
    expect(drawn).toEqual(Array.from({ length: 7 }, () => 'process.hrtime'));
  });

  it('a name of the machine that is read as a text is drawn as well', () => {
    const os = process.getBuiltinModule('node:os');
    hook();
    values['os.hostname'] = 'elsewhere';
    // oxlint-disable-next-line typescript/no-base-to-string -- what the platform makes of it is the matter
    expect([os.hostname(), `${os.hostname as unknown as string}`]).toEqual(['elsewhere', 'elsewhere']);
  });

  it.each([1.5, -1, 2 ** 33, '5', null, undefined, Number.NaN])('the platform refuses a signal in %s ms', (delay) => {
    const act = (): unknown => AbortSignal.timeout(delay as number) instanceof AbortSignal;
    const expected = outcome(act);
    hook();
    expect(outcome(act)).toEqual(expected);
  });
});

describe('with hooks in what is drawn at random', () => {
  it.each(Object.entries(fills))('the platform refuses what it does not take: %s', (_, act) => {
    const expected = outcome(act);
    expect(expected).toHaveProperty('message');
    hook();
    expect(outcome(act)).toEqual(expected);
  });

  it('a callback is found where it stands', async () => {
    hook();
    const given = await new Promise((resolve) =>
      crypto['randomFill']?.(Buffer.alloc(4), 1, (...args: unknown[]) => resolve(args), 'more'),
    );
    expect(given).toEqual([null, expect.any(Buffer)]);
  });
});

it('what the console measures is drawn where the program asks for it', () => {
  let said = '';
  const stdout = new Writable({
    write(bytes: Buffer, _encoding, done) {
      said += bytes.toString();
      done();
    },
  });
  const own = new Console(stdout);
  hook();
  values['process.hrtime'] = 5_000_000_000n;
  own.time('it');
  values['process.hrtime'] = 7_500_000_000n;
  own.timeLog('it');
  values['process.hrtime'] = 65_000_000_000n;
  own.timeEnd('it');
  expect(said).toBe('it: 2.500s\nit: 1:00.000 (m:ss.mmm)\n');
  expect(drawn).toEqual(Array(3).fill('process.hrtime'));
});
