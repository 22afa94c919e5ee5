/** Standing between callers and a function of the platform. */

type Any = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Puts a proxy in a function's place: name, length, properties and use with `new` stay. `around` calls on with `call` and
 * must give what that gives.
 */
export function watch(
  target: object,
  name: string,
  around: (args: unknown[], call: () => unknown, self: unknown) => unknown,
): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name);
  const original: unknown = descriptor?.value;
  if (typeof original !== 'function' || descriptor?.configurable !== true) return;
  const proxy = new Proxy(original as Any, {
    apply: (fn, self, args) => around(args, () => Reflect.apply(fn, self, args), self),
    construct: (fn, args, newTarget) =>
      around(args, () => Reflect.construct(fn, args, newTarget) as object, undefined) as object,
  });
  Object.defineProperty(target, name, { ...descriptor, value: proxy });
}

/** Bytes of what a program writes, as base64, cut to a bound. */
export function base64Of(data: unknown, maxBytes: number = 256 * 1024): string {
  if (typeof data === 'string') return Buffer.from(data).subarray(0, maxBytes).toString('base64');
  if (ArrayBuffer.isView(data))
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).subarray(0, maxBytes).toString('base64');
  if (Array.isArray(data)) {
    return Buffer.concat(data.map((part) => Buffer.from(base64Of(part, maxBytes), 'base64')))
      .subarray(0, maxBytes)
      .toString('base64');
  }
  return '';
}
