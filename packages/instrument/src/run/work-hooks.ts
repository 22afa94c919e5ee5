/**
 * Hooks in what the platform does beside the program, on threads of its own: files, compression, cryptography. What the program is told
 * of its end has its place in the order of the run.
 */
import type { CallSites } from './call-site.ts';
import type { Undo, WorkPort } from './ports.ts';
import { type AnyFunction, replaceMethod, undoAll } from './replace.ts';

/** Streams of the recorder have a member of this name. */
const OWN = Symbol.for('orangebox.own');

const FILE_HANDLE = [
  'appendFile',
  'chmod',
  'chown',
  'datasync',
  'read',
  'readFile',
  'readv',
  'stat',
  'sync',
  'truncate',
  'utimes',
  'write',
  'writeFile',
  'writev',
];
/** What is drawn at random comes a tick later, whatever the platform does: it is a draw. */
const CRYPTO = [
  'checkPrime',
  'generateKey',
  'generateKeyPair',
  'generatePrime',
  'hkdf',
  'pbkdf2',
  'scrypt',
  'sign',
  'verify',
];
const SUBTLE = [
  'decrypt',
  'deriveBits',
  'deriveKey',
  'digest',
  'encrypt',
  'exportKey',
  'generateKey',
  'importKey',
  'sign',
  'unwrapKey',
  'verify',
  'wrapKey',
];
/** Of `fs.promises`: those that give something to go through, and what is no work. */
const NO_WORK: ReadonlySet<string> = new Set(['watch', 'glob', 'constants']);

type Members = Record<string, unknown>;

/** Puts the hooks in place. */
export function hookWork(port: WorkPort, sites: CallSites): Undo {
  const hooks = new WorkHooks(port, sites);
  const fs = process.getBuiltinModule('node:fs');
  const crypto = process.getBuiltinModule('node:crypto');
  const zlib = process.getBuiltinModule('node:zlib');
  const names = Object.keys(fs).filter((name) => typeof (fs as unknown as Members)[`${name}Sync`] === 'function');
  const promised = Object.keys(fs.promises).filter((name) => !NO_WORK.has(name) && name !== 'open');
  const subtle: object | undefined = Object.getPrototypeOf(crypto.webcrypto.subtle) as object | undefined;
  return undoAll([
    ...names.map((name) => hooks.withCallback(fs, name, `fs.${name}`)),
    hooks.withCallback(fs.realpath, 'native', 'fs.realpath.native'),
    ...promised.map((name) => hooks.withPromise(fs.promises, name, `fs.promises.${name}`)),
    hooks.withPromise(fs.promises, 'open', 'fs.promises.open', (handle) => hooks.seeFileHandle(handle)),
    ...CRYPTO.map((name) => hooks.withCallback(crypto, name, `crypto.${name}`)),
    ...(subtle ? SUBTLE.map((name) => hooks.withPromise(subtle, name, `crypto.subtle.${name}`)) : []),
    hooks.ofCompression(zlib.Gzip.prototype as object),
    () => hooks.undoFileHandle(),
  ]);
}

class WorkHooks {
  readonly #port: WorkPort;
  readonly #sites: CallSites;
  #fileHandle: Undo | undefined;

  constructor(port: WorkPort, sites: CallSites) {
    this.#port = port;
    this.#sites = sites;
  }

  /** A function whose last argument is called when the work is done. */
  withCallback(holder: object, name: string, kind: string): Undo {
    return replaceMethod(holder, name, (original) => {
      const begin = (below: AnyFunction): ReturnType<WorkPort['begin']> | undefined => this.#begin(kind, below);
      // A method, so that it has no `prototype`, as the platform's asynchronous functions that are no constructors.
      const { work } = {
        work(this: unknown, ...args: unknown[]): unknown {
          const callback = args.at(-1);
          if (typeof callback !== 'function') return Reflect.apply(original, this, args) as unknown;
          const done = begin(work);
          if (!done) return Reflect.apply(original, this, args) as unknown;
          args[args.length - 1] = function (this: unknown, ...results: unknown[]): void {
            done(() => void Reflect.apply(callback, this, results));
          };
          return Reflect.apply(original, this, args) as unknown;
        },
      };
      return work;
    });
  }

  /** A function that gives a promise; `see` looks at what it is of. */
  withPromise(holder: object, name: string, kind: string, see?: (value: unknown) => void): Undo {
    return replaceMethod(holder, name, (original) => {
      const begin = (below: AnyFunction): ReturnType<WorkPort['begin']> | undefined => this.#begin(kind, below);
      const { work } = {
        work(this: unknown, ...args: unknown[]): unknown {
          const done = begin(work);
          const real: unknown = Reflect.apply(original, this, args);
          if (!(real instanceof Promise) || (!done && !see)) return real;
          const whenDone = done ?? ((deliver: () => void): void => deliver());
          return new Promise((resolve, reject) => {
            real.then(
              (value) => {
                see?.(value);
                whenDone(() => resolve(value));
              },
              (error: unknown) => whenDone(() => reject(error as Error)),
            );
          });
        },
      };
      return work;
    });
  }

  /** The platform keeps the class of its file handles to itself: the first one shows it. */
  seeFileHandle(handle: unknown): void {
    if (this.#fileHandle) return;
    const prototype = Object.getPrototypeOf(handle) as object;
    this.#fileHandle = undoAll(FILE_HANDLE.map((name) => this.withPromise(prototype, name, `FileHandle.${name}`)));
  }

  undoFileHandle(): void {
    this.#fileHandle?.();
  }

  /** Streams that compress and decompress hand on what they made before they say that they are done. */
  ofCompression(streamPrototype: object): Undo {
    let holder: object | null = streamPrototype;
    while (holder && !Object.hasOwn(holder, '_transform')) holder = Object.getPrototypeOf(holder) as object | null;
    if (!holder) return () => undefined;
    const port = this.#port;
    const pending: WeakMap<object, () => void> = new WeakMap();
    const undoTransform = replaceMethod(holder, '_transform', (original) => {
      const { _transform } = {
        _transform(this: object, chunk: unknown, encoding: unknown, callback: AnyFunction): void {
          if (OWN in this) {
            Reflect.apply(original, this, [chunk, encoding, callback]);
            return;
          }
          port.around('zlib', (finished) => {
            const finishOnce = (): void => {
              if (pending.delete(this)) finished();
            };
            pending.set(this, finishOnce);
            const whenDone = (...results: unknown[]): void => {
              finishOnce();
              Reflect.apply(callback, undefined, results);
            };
            Reflect.apply(original, this, [chunk, encoding, whenDone]);
          });
        },
      };
      return _transform;
    });
    // What is no compressed data destroys the stream, and the callback is never called.
    const undoDestroy = replaceMethod(holder, '_destroy', (original) => {
      const { _destroy } = {
        _destroy(this: object, ...args: unknown[]): void {
          pending.get(this)?.();
          Reflect.apply(original, this, args);
        },
      };
      return _destroy;
    });
    return undoAll([undoTransform, undoDestroy]);
  }

  #begin(kind: string, below: AnyFunction): ReturnType<WorkPort['begin']> | undefined {
    const site = this.#sites.of(below, 'program_and_platform');
    // Modules are loaded by the platform, and nobody else sees when.
    return site && !site.at.startsWith('node:internal/modules/') ? this.#port.begin(kind) : undefined;
  }
}
