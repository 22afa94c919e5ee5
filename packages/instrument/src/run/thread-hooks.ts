/**
 * Hooks in what comes of other threads: messages of workers and their end, and in a worker the messages of the thread that
 * made it. They sit on the platform's ports, which a program never sees, and on nothing of the program's.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import type { ThreadEventKind } from '@orangebox/schema';
import type { ThreadPort, Undo } from './ports.ts';
import { type AnyFunction, replaceMethod } from './replace.ts';

/** Where the platform hands a port its messages, and the ports that come with one. */
const DISPATCH = Symbol.for('nodejs.internal.kHybridDispatch');
const PORTS = Symbol.for('nodejs.internal.kCurrentlyReceivingPorts');

type HookedPort = MessagePort & { [DISPATCH]?: AnyFunction; [PORTS]?: unknown };
type Came = (kind: ThreadEventKind, deliver: () => void) => void;

/** Puts the hooks in place; where the platform has other members than these, nothing is hooked. */
export function hookThreads(port: ThreadPort): Undo {
  let made = 0;
  if (parentPort)
    hookPort(
      parentPort,
      () => 'message',
      (kind, deliver) => port.came(kind, undefined, deliver),
    );
  // The platform tells of each worker a tick after it was made, and before anything can come of it.
  return replaceMethod(process, 'emit', (original) => {
    const emit: AnyFunction = function emit(this: unknown, ...args) {
      if (args[0] === 'worker') {
        const worker = made++;
        hookWorker(args[1] as Worker, (kind, deliver) => port.came(kind, worker, deliver));
      }
      return Reflect.apply(original, this, args) as unknown;
    };
    return emit;
  });
}

function hookWorker(worker: Worker, came: Came): void {
  const members = worker as unknown as Record<symbol, unknown>;
  const [publicPort, ownPort] = ['kPublicPort', 'kPort'].map((name) => members[symbolOf(worker, name) ?? DISPATCH]);
  const exit = symbolOf(worker, 'kOnExit');
  const original = exit === undefined ? undefined : members[exit];
  if (!isPort(publicPort) || !isPort(ownPort) || exit === undefined || typeof original !== 'function') return;
  hookPort(publicPort, () => 'message', came);
  hookPort(ownPort, kindOf, came);
  setHidden(worker, exit, (...args: unknown[]) => {
    // The platform does this first thing in it; what was sent before the end comes before the end.
    for (const one of [publicPort, ownPort]) drain(one);
    came('exit', () => void Reflect.apply(original, worker, args));
  });
}

/** What the platform tells itself of a worker; output of it comes when it comes. */
function kindOf(data: unknown): ThreadEventKind | undefined {
  const type = typeof data === 'object' && data !== null && 'type' in data ? data.type : undefined;
  if (type === 'upAndRunning') return 'online';
  return type === 'errorMessage' || type === 'couldNotSerializeError' ? 'error' : undefined;
}

function hookPort(port: HookedPort, kind: (data: unknown) => ThreadEventKind | undefined, came: Came): void {
  const original = port[DISPATCH];
  if (original === undefined) return;
  setHidden(port, DISPATCH, function (this: HookedPort, ...args: unknown[]): void {
    const [data, type] = args;
    const what = type === 'message' || type === 'messageerror' ? kind(data) : undefined;
    if (what === undefined) return void Reflect.apply(original, this, args);
    const ports = this[PORTS];
    came(what, () => {
      this[PORTS] = ports;
      try {
        Reflect.apply(original, this, args);
      } finally {
        this[PORTS] = undefined;
      }
    });
  });
}

function drain(port: HookedPort): void {
  for (let got = receive(port); got; got = receive(port)) port[DISPATCH]?.(got.message, 'message', undefined);
}

function receive(port: MessagePort): { message: unknown } | undefined {
  try {
    return receiveMessageOnPort(port) as { message: unknown } | undefined;
  } catch {
    return undefined;
  }
}

function isPort(value: unknown): value is HookedPort {
  return typeof value === 'object' && value !== null && DISPATCH in value;
}

/** A member by the name of its symbol, own or inherited. */
function symbolOf(holder: object, name: string): symbol | undefined {
  for (let at: object | null = holder; at; at = Object.getPrototypeOf(at) as object | null) {
    const found = Object.getOwnPropertySymbols(at).find(({ description }) => description === name);
    if (found) return found;
  }
  return undefined;
}

function setHidden(holder: object, key: symbol, value: AnyFunction): void {
  Object.defineProperty(holder, key, { configurable: true, writable: true, enumerable: false, value });
}
