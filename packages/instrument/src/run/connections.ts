/** Connections that no recorded request went over: a replay cannot give them again, and says so from the start. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { replaceMethod } from './replace.ts';
import type { Undo } from './ports.ts';

const INBOUND = 'http.server.request.start';

/** So many sockets are held before those that are closed are let go. */
const MAX_UNSWEPT = 64;

type Closable = object & { destroyed?: boolean };

/** Counts by what it was. */
export interface ConnectionCounts {
  /** `connection to db:5432`, most first; when the run ends. */
  list(): { what: string; count: number }[];
  undo: Undo;
}

/** What is known of connections elsewhere: by tools, since what they do is theirs, and by requests. */
export interface ConnectionFacts {
  /** The code that runs now made a connection, or wrote to one. */
  touched(socket: object, target: string, how: 'made' | 'used'): void;
  /** What was done over it is given again with the outcome of a tool. */
  isGiven(socket: object): boolean;
  /** A recorded request found no connection to it. */
  isUnreached(target: string): boolean;
  /** As of the code that runs now; false where it is in no tool. */
  notReplayable(what: string): boolean;
}

/** Counts from now on. `isClaimed` tells whether a recorded request went over a socket. */
export function countConnections(
  isClaimed: (socket: object) => boolean,
  isOwn: () => boolean,
  facts: ConnectionFacts,
): ConnectionCounts {
  const net = process.getBuiltinModule('node:net');
  const dgram = process.getBuiltinModule('node:dgram');
  const open = new Map<Closable, string>();
  /** Places that recorded requests went to. */
  const played = new Set<string>();
  /** Connections that none went over, by place. */
  const idle = new Map<string, number>();
  const others = new Map<string, number>();
  let sweepAt = MAX_UNSWEPT;
  const settle = (socket: Closable, target: string): void => {
    if (isClaimed(socket)) played.add(target);
    else if (!facts.isGiven(socket)) add(idle, target);
  };
  const opened = (socket: Closable, target: string): void => {
    const before = open.get(socket);
    // A socket that is used anew was another connection.
    if (before !== undefined) settle(socket, before);
    open.set(socket, target);
    facts.touched(socket, target, 'made');
    if (open.size < sweepAt) return;
    for (const [one, place] of open) {
      if (one.destroyed !== true || one === socket) continue;
      open.delete(one);
      settle(one, place);
    }
    sweepAt = Math.max(MAX_UNSWEPT, 2 * open.size);
  };
  const undoConnect = replaceMethod(net.Socket.prototype, 'connect', (original) => {
    const { connect } = {
      connect(this: Closable, ...args: unknown[]): unknown {
        try {
          if (!isOwn()) opened(this, targetOf(args));
        } catch {
          // Only a count: what the platform takes is not ours to judge.
        }
        return Reflect.apply(original, this, args) as unknown;
      },
    };
    return connect;
  });
  // One that was there before is used within a tool where something is written to it.
  const undoWrite = replaceMethod(net.Socket.prototype, '_writeGeneric', (original) => {
    const { _writeGeneric } = {
      _writeGeneric(this: Closable, ...args: unknown[]): unknown {
        const target = open.get(this);
        if (target !== undefined) facts.touched(this, target, 'used');
        return Reflect.apply(original, this, args) as unknown;
      },
    };
    return _writeGeneric;
  });
  const undoSend = replaceMethod(dgram.Socket.prototype, 'send', (original) => {
    const { send } = {
      send(this: unknown, ...args: unknown[]): unknown {
        if (!facts.notReplayable('datagram')) add(others, 'datagram');
        return Reflect.apply(original, this, args) as unknown;
      },
    };
    return send;
  });
  const onInbound = (): void => add(others, 'inbound request');
  subscribe(INBOUND, onInbound);
  return {
    list() {
      const all = new Map(others);
      for (const [socket, target] of open) settle(socket, target);
      open.clear();
      for (const [target, n] of idle) {
        // A client may open more connections to a server than it has requests for.
        // One that failed is given again with the request that it was for.
        if (!played.has(target) && !facts.isUnreached(target)) all.set(`connection to ${target}`, n);
      }
      return [...all].map(([what, n]) => ({ what, count: n })).sort((a, b) => b.count - a.count);
    },
    undo() {
      undoConnect();
      undoWrite();
      undoSend();
      unsubscribe(INBOUND, onInbound);
    },
  };
}

function add(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
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
