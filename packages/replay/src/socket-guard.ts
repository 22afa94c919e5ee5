/** Refuses and counts sockets and name look-ups that a replay would open. */
import { AsyncLocalStorage } from 'node:async_hooks';
import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { OrangeboxError } from '@orangebox/schema';

/** Count of one replay. */
export interface GuardCount {
  refused: number;
}

/** Only what a replay does is refused: a server that replays goes on serving. */
const current = new AsyncLocalStorage<GuardCount>();
let active = 0;
let undo: (() => void) | undefined;

/** Runs a function in which no socket can be opened and no name looked up. */
export async function withoutSockets<T>(count: GuardCount, run: () => Promise<T>): Promise<T> {
  active += 1;
  undo ??= install();
  try {
    return await current.run(count, run);
  } finally {
    active -= 1;
    if (active === 0) {
      undo?.();
      undo = undefined;
    }
  }
}

function refusal(what: string): OrangeboxError {
  return new OrangeboxError('OBX_REPLAY_SOCKET', `a replay opens no ${what}; it was refused`, {
    hint: 'something in the client asks for the network besides the recorded call',
  });
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/** Replaces the ways out, and gives the undo. */
function install(): () => void {
  const undos: (() => void)[] = [];
  const replace = (holder: object, name: string, make: (original: AnyFunction) => AnyFunction): void => {
    const fields = holder as Record<string, AnyFunction>;
    const original = fields[name];
    if (typeof original !== 'function') return;
    const made = make(original);
    // `util.promisify` and others look for symbols on the function.
    Object.defineProperties(made, Object.getOwnPropertyDescriptors(original));
    fields[name] = made;
    undos.push(() => {
      // Somebody who replaced it after us keeps theirs.
      if (fields[name] === made) fields[name] = original;
    });
  };
  replace(net.Socket.prototype, 'connect', (original) => {
    return function connect(this: unknown, ...args) {
      const count = current.getStore();
      if (!count) return Reflect.apply(original, this, args);
      count.refused += 1;
      (this as net.Socket).destroy(refusal('socket'));
      return this;
    };
  });
  for (const name of ['connect', 'send', 'bind']) {
    replace(dgram.Socket.prototype, name, (original) => {
      return function refuse(this: unknown, ...args) {
        const count = current.getStore();
        if (!count) return Reflect.apply(original, this, args);
        count.refused += 1;
        throw refusal('socket');
      };
    });
  }
  for (const name of Object.keys(dns).filter(
    (key) => key === 'lookup' || key.startsWith('resolve') || key === 'reverse',
  )) {
    replace(dns, name, (original) => guardedCallback(original));
  }
  for (const name of Object.keys(dns.promises).filter(
    (key) => key === 'lookup' || key.startsWith('resolve') || key === 'reverse',
  )) {
    replace(dns.promises, name, (original) => guardedPromise(original));
  }
  syncBuiltinESMExports();
  return () => {
    for (const step of undos.reverse()) step();
    syncBuiltinESMExports();
  };
}

function guardedCallback(original: AnyFunction): AnyFunction {
  return function refuse(this: unknown, ...args) {
    const count = current.getStore();
    if (!count) return Reflect.apply(original, this, args);
    count.refused += 1;
    const callback = args.at(-1);
    const error = refusal('name look-up');
    if (typeof callback !== 'function') throw error;
    process.nextTick(() => Reflect.apply(callback, undefined, [error]));
    return {};
  };
}

function guardedPromise(original: AnyFunction): AnyFunction {
  return function refuse(this: unknown, ...args) {
    const count = current.getStore();
    if (!count) return Reflect.apply(original, this, args);
    count.refused += 1;
    return Promise.reject(refusal('name look-up'));
  };
}
