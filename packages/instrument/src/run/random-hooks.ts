/** Hooks in what is drawn at random: `Math.random`, `crypto` of Node.js and of the web. */
import type { CallSites } from './call-site.ts';
import type { DrawPort, Undo } from './ports.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';

/** Puts the hooks in place. */
export function hookRandom(port: DrawPort, sites: CallSites): Undo {
  const crypto = process.getBuiltinModule('node:crypto');
  const web = Object.getPrototypeOf(crypto.webcrypto) as object;
  const random = new RandomHooks(port, sites);
  return undoAll([
    random.value(Math, 'random', 'Math.random'),
    random.value(crypto, 'randomUUID', 'crypto.randomUUID'),
    random.value(web, 'randomUUID', 'crypto.randomUUID'),
    random.bytes(crypto),
    random.int(crypto),
    random.fill(crypto, 'randomFillSync'),
    random.fill(crypto, 'randomFill'),
    random.fill(crypto, 'getRandomValues'),
    random.fill(web, 'getRandomValues'),
  ]);
}

/** A result by callback comes in a turn of its own, as from the platform's threads, but always the same one. */
function later(callback: AnyFunction, value: unknown): void {
  process.nextTick(callback, null, value);
}

class RandomHooks {
  readonly #port: DrawPort;
  readonly #sites: CallSites;

  constructor(port: DrawPort, sites: CallSites) {
    this.#port = port;
    this.#sites = sites;
  }

  value(holder: object, name: string, source: string): Undo {
    return replaceMethod(holder, name, (original) => {
      const port = this.#port;
      const sites = this.#sites;
      const { random } = {
        random(this: unknown, ...args: unknown[]): string | number {
          const real = (): string | number => Reflect.apply(original, this, args) as string | number;
          const site = sites.of(random, 'program_and_platform');
          return site ? port.draw(source, site.at, real) : real();
        },
      };
      return random;
    });
  }

  bytes(crypto: object): Undo {
    return replaceMethod(crypto, 'randomBytes', (original) => {
      const hooked: AnyFunction = (size: number, callback?: AnyFunction) => {
        const site = this.#sites.of(hooked, 'program_and_platform');
        // What is no callback is the platform's to complain about.
        if (!site || (callback !== undefined && typeof callback !== 'function')) return original(size, callback);
        const bytes = Buffer.from(this.#port.draw('crypto.randomBytes', site.at, () => original(size) as Buffer));
        if (typeof callback !== 'function') return bytes;
        later(callback, bytes);
        return undefined;
      };
      return hooked;
    });
  }

  int(crypto: object): Undo {
    return replaceMethod(crypto, 'randomInt', (original) => {
      const hooked: AnyFunction = (...args) => {
        const site = this.#sites.of(hooked, 'program_and_platform');
        if (!site) return original(...args);
        const callback: unknown = args.at(-1);
        const bounds = typeof callback === 'function' ? args.slice(0, -1) : args;
        const value = this.#port.draw('crypto.randomInt', site.at, () => original(...bounds) as number);
        if (typeof callback !== 'function') return value;
        later(callback as AnyFunction, value);
        return undefined;
      };
      return hooked;
    });
  }

  /** `randomFill(buffer, [offset], [size], callback)`, `randomFillSync(buffer, [offset], [size])`, `getRandomValues(array)`. */
  fill(holder: object, name: string): Undo {
    return replaceMethod(holder, name, (original) => {
      const port = this.#port;
      const sites = this.#sites;
      const sync = process.getBuiltinModule('node:crypto').randomFillSync as AnyFunction;
      const isLater = name === 'randomFill';
      const fill = function (this: unknown, below: AnyFunction, args: unknown[]): unknown {
        const site = sites.of(below, 'program_and_platform');
        const target: unknown = args[0];
        const isBytes = ArrayBuffer.isView(target) || target instanceof ArrayBuffer;
        const end = isLater ? args.findIndex((arg) => typeof arg === 'function') : args.length;
        if (!site || !isBytes || end < 0) return Reflect.apply(original, this, args) as unknown;
        const given = args.slice(0, end);
        const [offset = 0, size] = given.slice(1) as [number?, number?];
        const view = bytesOf(target);
        const unit = ArrayBuffer.isView(target) && 'BYTES_PER_ELEMENT' in target ? Number(target.BYTES_PER_ELEMENT) : 1;
        const from = offset * unit;
        const range = view.subarray(from, size === undefined ? view.length : from + size * unit);
        const drawn = port.draw(`crypto.${name}`, site.at, () => {
          // The platform checks the arguments, and fills the program's own memory.
          if (isLater) Reflect.apply(sync, undefined, given);
          else Reflect.apply(original, this, args);
          return Buffer.from(range);
        });
        range.set(drawn.subarray(0, range.length));
        if (!isLater) return target;
        later(args[end] as AnyFunction, target);
        return undefined;
      };
      const { hooked } = {
        hooked(this: unknown, ...args: unknown[]): unknown {
          return Reflect.apply(fill, this, [hooked, args]) as unknown;
        },
      };
      return hooked;
    });
  }
}

function bytesOf(target: ArrayBufferView | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(target)
    ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    : new Uint8Array(target);
}
