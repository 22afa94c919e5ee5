/** Keeps Orangebox's own requests out of recordings, where this process is recorded itself. */

interface Suppresses {
  suppress<T>(run: () => T): T;
}

/** Runs a function whose requests are not recorded. */
export function unrecorded<T>(run: () => T): T {
  const runtime: unknown = Reflect.get(globalThis, Symbol.for('orangebox.runtime.1'));
  const suppresses = typeof runtime === 'object' && runtime !== null && 'suppress' in runtime;
  return suppresses ? (runtime as Suppresses).suppress(run) : run();
}
