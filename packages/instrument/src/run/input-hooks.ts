/** Hooks in standard input: the stream, and the functions that wait for it. It is opened only where the program does. */
import type { InputPort, Undo } from './ports.ts';
import { type AnyFunction, replaceGetter, replaceMethod, undoAll } from './replace.ts';

/** Names of standard input in the file system. */
const PATHS: ReadonlySet<unknown> = new Set(['/dev/stdin', '/dev/fd/0', '/proc/self/fd/0']);

/** Puts the hooks in place. */
export function hookInput(port: InputPort): Undo {
  const fs = process.getBuiltinModule('node:fs');
  let opened: { stream: unknown } | undefined;
  /** The platform's function for the whole calls its other one. */
  let isWithin = false;
  return undoAll([
    replaceGetter(process, 'stdin', (original) => {
      const get = (): unknown => (opened ??= { stream: port.open(original) }).stream;
      return get;
    }),
    replaceMethod(fs, 'readSync', (original) => {
      const hooked: AnyFunction = function readSync(this: unknown, ...args) {
        const real = (): number => Reflect.apply(original, this, args) as number;
        const place = args[0] === 0 && !isWithin ? placeOf(args) : undefined;
        return place ? port.readSync(place, real) : real();
      };
      return hooked;
    }),
    replaceMethod(fs, 'readFileSync', (original) => {
      const hooked: AnyFunction = function readFileSync(this: unknown, ...args) {
        const [file, options] = args as [unknown, unknown];
        const real = (how: unknown): unknown => {
          isWithin = true;
          try {
            return Reflect.apply(original, this, [file, how]);
          } finally {
            isWithin = false;
          }
        };
        if (file !== 0 && !PATHS.has(file)) return Reflect.apply(original, this, args) as unknown;
        const { encoding, ...rest } = optionsOf(options);
        // What the platform refuses, it refuses itself.
        if (encoding !== undefined && !Buffer.isEncoding(encoding)) return real(options);
        const bytes = port.readFileSync(() => real(rest) as Buffer);
        return encoding === undefined ? bytes : bytes.toString(encoding);
      };
      return hooked;
    }),
  ]);
}

/** Where the bytes go; undefined where the platform will refuse it. */
function placeOf([, view, second, third]: readonly unknown[]): Uint8Array | undefined {
  if (!ArrayBuffer.isView(view)) return undefined;
  const options =
    typeof second === 'object' && second !== null ? (second as { offset?: unknown; length?: unknown }) : {};
  const offset = typeof second === 'object' ? options.offset : second;
  const from = offset ?? 0;
  const size = (typeof second === 'object' ? options.length : third) ?? view.byteLength - Number(from);
  if (!isCount(from) || !isCount(size) || from + size > view.byteLength) return undefined;
  return new Uint8Array(view.buffer, view.byteOffset + from, size);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function optionsOf(options: unknown): { encoding?: string | undefined } {
  if (typeof options === 'string') return { encoding: options };
  if (typeof options !== 'object' || options === null) return {};
  const { encoding, ...rest } = options as { encoding?: string | null };
  return encoding === undefined || encoding === null || (encoding as string) === 'buffer'
    ? rest
    : { ...rest, encoding };
}
