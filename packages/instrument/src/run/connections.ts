/** Connections that no recorded request went over: a replay cannot give them again, and says so from the start. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type AnyFunction, replaceMethod } from './replace.ts';
import type { Undo } from './ports.ts';

const INBOUND = 'http.server.request.start';

/** Counts by what it was. */
export interface ConnectionCounts {
  /** `connection to db:5432`, most first. */
  list(): { what: string; count: number }[];
  undo: Undo;
}

/** Counts from now on. `isClaimed` tells whether a recorded request went over a socket. */
export function countConnections(isClaimed: (socket: object) => boolean, isOwn: () => boolean): ConnectionCounts {
  const net = process.getBuiltinModule('node:net');
  const dgram = process.getBuiltinModule('node:dgram');
  const sockets = new Map<object, string>();
  const others = new Map<string, number>();
  const count = (what: string): void => void others.set(what, (others.get(what) ?? 0) + 1);
  const undoConnect = replaceMethod(net.Socket.prototype, 'connect', (original) => {
    const connect: AnyFunction = function connect(this: object, ...args) {
      try {
        if (!isOwn()) sockets.set(this, targetOf(args));
      } catch {
        // Only a count: what the platform takes is not ours to judge.
      }
      return Reflect.apply(original, this, args) as unknown;
    };
    return connect;
  });
  const undoSend = replaceMethod(dgram.Socket.prototype, 'send', (original) => {
    const send: AnyFunction = function send(this: unknown, ...args) {
      count('datagram');
      return Reflect.apply(original, this, args) as unknown;
    };
    return send;
  });
  const onInbound = (): void => count('inbound request');
  subscribe(INBOUND, onInbound);
  return {
    list() {
      const all = new Map(others);
      const played = new Set([...sockets].filter(([socket]) => isClaimed(socket)).map(([, target]) => target));
      for (const [, target] of sockets) {
        // A client may open more connections to a server than it has requests for.
        if (played.has(target)) continue;
        const what = `connection to ${target}`;
        all.set(what, (all.get(what) ?? 0) + 1);
      }
      return [...all].map(([what, n]) => ({ what, count: n })).sort((a, b) => b.count - a.count);
    },
    undo() {
      undoConnect();
      undoSend();
      unsubscribe(INBOUND, onInbound);
    },
  };
}

/** `host:port` or the path of a local socket, from any of the forms that `connect` takes. */
function targetOf(args: readonly unknown[]): string {
  const [first, second] = Array.isArray(args[0]) ? (args[0] as unknown[]) : args;
  if (typeof first === 'object' && first !== null) {
    const { path, host, port } = first as { path?: unknown; host?: unknown; port?: unknown };
    return typeof path === 'string' ? path : `${typeof host === 'string' ? host : 'localhost'}:${String(port)}`;
  }
  if (typeof first === 'string' && !/^\d+$/.test(first)) return first;
  return `${typeof second === 'string' ? second : 'localhost'}:${String(first)}`;
}
