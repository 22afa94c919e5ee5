/** Every way out of the process: connections that recorded requests go over are played, all others refused and counted. */
import dgram from 'node:dgram';
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';
import { type Peer, ReplaySocket } from './replay-socket.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- any function of the platform
type AnyFunction = (this: any, ...args: any[]) => any;

/** Who decides about connections. */
export interface NetworkHost {
  /** A recorded request is about to go to this peer. */
  isExpected(peer: Peer): boolean;
  /** A connection that is played. */
  opened(socket: ReplaySocket): void;
  /** Something else would have left the process. */
  refused(what: string): void;
}

/** Replaces the ways out. They stay so for the life of the process. */
export function refuseNetwork(host: NetworkHost): void {
  const played = (peer: Peer): ReplaySocket => {
    const socket = new ReplaySocket(peer);
    host.opened(socket);
    return socket;
  };
  const connecting = (secure: boolean): AnyFunction =>
    function connect(...args: unknown[]) {
      const { peer, path, callback } = targetOf(args, secure);
      if (path === undefined && host.isExpected(peer)) {
        const socket = played(peer);
        if (callback) socket.once(secure ? 'secureConnect' : 'connect', callback);
        return socket;
      }
      host.refused(`connection to ${path ?? `${peer.host}:${peer.port}`}`);
      return new net.Socket().destroy(refusal('connection'));
    };
  const plain = connecting(false);
  Object.assign(net, { connect: plain, createConnection: plain });
  Object.assign(tls, { connect: connecting(true) });
  // Agents call what they found when they were loaded; what comes through them is HTTP.
  http.Agent.prototype.createConnection = function createConnection(...args: unknown[]) {
    return played(targetOf(args, false).peer);
  };
  https.Agent.prototype.createConnection = function createConnection(...args: unknown[]) {
    return played(targetOf(args, true).peer);
  };
  net.Socket.prototype.connect = function connect(this: net.Socket, ...args: unknown[]) {
    const { peer, path } = targetOf(args, false);
    host.refused(`connection to ${path ?? `${peer.host}:${peer.port}`}`);
    return this.destroy(refusal('connection'));
  } as typeof net.Socket.prototype.connect;
  for (const name of ['connect', 'send', 'bind'] as const) {
    (dgram.Socket.prototype as unknown as Record<string, AnyFunction>)[name] = function refuse() {
      host.refused('datagram');
      throw refusal('datagram');
    };
  }
  refuseNames(host);
  syncBuiltinESMExports();
}

function refuseNames(host: NetworkHost): void {
  const isLookUp = (name: string): boolean => name === 'lookup' || name.startsWith('resolve') || name === 'reverse';
  const refuse = (asked: unknown): Error => {
    host.refused(`look-up of ${String(asked)}`);
    return refusal('name look-up');
  };
  const plain = dns as unknown as Record<string, AnyFunction>;
  const promised = dns.promises as unknown as Record<string, AnyFunction>;
  for (const name of Object.keys(plain).filter(isLookUp)) {
    plain[name] = (...args: unknown[]) => {
      const error = refuse(args[0]);
      const callback = args.at(-1);
      if (typeof callback !== 'function') throw error;
      process.nextTick(callback as AnyFunction, error);
      return {};
    };
  }
  for (const name of Object.keys(promised).filter(isLookUp)) {
    promised[name] = (...args: unknown[]) => Promise.reject(refuse(args[0]));
  }
}

function refusal(what: string): Error {
  return Object.assign(new Error(`a replay opens no ${what}; it was refused`), {
    code: 'ECONNREFUSED',
    name: 'Error',
    syscall: 'connect',
  });
}

/** Where to, from any of the forms that `connect` takes. */
function targetOf(args: readonly unknown[], secure: boolean): { peer: Peer; path?: string; callback?: () => void } {
  const list = Array.isArray(args[0]) ? (args[0] as unknown[]) : args;
  const callback = list.find((arg): arg is () => void => typeof arg === 'function');
  const options = list.find((arg): arg is Record<string, unknown> => typeof arg === 'object' && arg !== null) ?? {};
  const [first, second] = list;
  const isPath = typeof first === 'string' && !/^\d+$/.test(first);
  const path = typeof options['path'] === 'string' && options['port'] === undefined ? options['path'] : undefined;
  const port = Number(typeof first === 'object' || isPath ? options['port'] : first);
  const named = typeof second === 'string' ? second : (options['servername'] ?? options['host'] ?? options['hostname']);
  const host = typeof options['host'] === 'string' ? options['host'] : named;
  return {
    peer: {
      host: typeof host === 'string' && host !== '' ? host : 'localhost',
      port: port || (secure ? 443 : 80),
      secure,
    },
    ...(isPath ? { path: first } : path === undefined ? {} : { path }),
    ...(callback ? { callback } : {}),
  };
}
