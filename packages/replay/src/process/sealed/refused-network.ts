/** Connections and datagrams: those that recorded requests go over are played, all others refused and counted. */
import dgram from 'node:dgram';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { type Peer, ReplaySocket } from '../replay-socket.ts';
import { type AnyFunction, membersOf, refusal, type RefusalHost } from './ways-out.ts';

/** Who decides about connections. */
export interface NetworkHost extends RefusalHost {
  /** A recorded request is about to go to this peer. */
  isExpected(peer: Peer): boolean;
  /** A connection that is played. */
  opened(socket: ReplaySocket): void;
}

/** Replaces what opens them, for the life of the process. */
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
      return new net.Socket().destroy(refusal('opens no connection'));
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
    return this.destroy(refusal('opens no connection'));
  } as typeof net.Socket.prototype.connect;
  for (const name of ['connect', 'send', 'sendto', 'bind']) {
    membersOf(dgram.Socket.prototype)[name] = function refuse() {
      host.refused('datagram');
      throw refusal('sends no datagram');
    };
  }
  // Undocumented, and hands out what sends without being asked again.
  if ('_createSocketHandle' in dgram) {
    membersOf(dgram)['_createSocketHandle'] = () => {
      host.refused('datagram');
      throw refusal('sends no datagram');
    };
  }
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
