/** What functions and properties the platform's objects have: taken before and after us, and compared. */

/** Descriptors by name of the object and key. */
export type Shape = ReadonlyMap<string, PropertyDescriptor>;

const MODULES = (
  'http https http2 net tls dns dgram fs fs/promises child_process worker_threads timers timers/promises module stream ' +
  'events async_hooks zlib util diagnostics_channel crypto path os url readline vm perf_hooks'
).split(' ');

/** The objects that are compared, by the name that a finding gives. */
function objects(): [name: string, object: object][] {
  const module = (name: string): object => process.getBuiltinModule(name) as object;
  const list: [string, object][] = [
    ['globalThis', globalThis],
    ['process', process],
    ['console', console],
    ['Error', Error],
    ['JSON', JSON],
    ['Reflect', Reflect],
    ['Date', Date],
    ['Math', Math],
  ];
  for (const name of MODULES) {
    const object = module(`node:${name}`);
    list.push([name, object]);
    for (const key of Object.keys(object)) {
      const descriptor = Object.getOwnPropertyDescriptor(object, key);
      const value: unknown = descriptor?.value;
      if (typeof value === 'function' && /^[A-Z]/.test(key)) addClass(list, `${name}.${key}`, value);
    }
  }
  const globals = ['Promise', 'Object', 'Function', 'Array', 'String', 'RegExp', 'Map', 'Set', 'Symbol', 'Uint8Array'];
  globals.push('Response', 'Request', 'Headers', 'FormData', 'ReadableStream', 'TransformStream', 'AbortController');
  globals.push('AbortSignal', 'EventTarget', 'URL', 'URLSearchParams', 'TextDecoder', 'Buffer', 'Proxy', 'WebSocket');
  for (const name of globals) {
    const value = (globalThis as { [name: string]: unknown })[name];
    if (typeof value === 'function') addClass(list, name, value);
  }
  return list;
}

function addClass(list: [string, object][], name: string, value: object): void {
  list.push([name, value]);
  const prototype: unknown = (value as { prototype?: unknown }).prototype;
  if (typeof prototype === 'object' && prototype !== null) list.push([`${name}.prototype`, prototype]);
}

/** As at the first look: a class that the platform loads later was not there to be changed. */
let looked: [name: string, object: object][] | undefined;

/** Takes the shape of now. */
export function takeShape(): Shape {
  looked ??= objects();
  const shape = new Map<string, PropertyDescriptor>();
  for (const [name, object] of looked) {
    for (const key of Reflect.ownKeys(object)) {
      const descriptor = Object.getOwnPropertyDescriptor(object, key);
      if (descriptor) shape.set(`${name}.${key.toString()}`, descriptor);
    }
  }
  return shape;
}

/** Loads what the platform defines on first use, so that its coming is no difference later. */
export function touchPlatform(): void {
  for (const object of [globalThis, ...MODULES.map((name) => process.getBuiltinModule(`node:${name}`) as object)]) {
    for (const key of Object.getOwnPropertyNames(object)) {
      try {
        void (object as { [name: string]: unknown })[key];
      } catch {
        // Some refuse without a flag.
      }
    }
  }
}

/** Names of what was added, removed or replaced. Values that are no functions count only where they came or went. */
export function changesOf(before: Shape, after: Shape): string[] {
  const changed: string[] = [];
  for (const [name, now] of after) {
    const was = before.get(name);
    if (was === undefined) changed.push(name);
    else if (isReplaced(was, now)) changed.push(name);
  }
  for (const name of before.keys()) if (!after.has(name)) changed.push(name);
  return changed.sort();
}

function isReplaced(was: PropertyDescriptor, now: PropertyDescriptor): boolean {
  // A lazy property of the platform became what it stands for.
  if (was.get !== undefined && now.get === undefined) return false;
  if (was.get !== now.get || was.set !== now.set) return true;
  const [left, right]: unknown[] = [was.value, now.value];
  return left !== right && (typeof left === 'function' || typeof right === 'function');
}

/** Listeners of the process, by event. */
export function takeListeners(): Map<string | symbol, number> {
  return new Map(process.eventNames().map((name) => [name, process.listenerCount(name as 'exit')]));
}
