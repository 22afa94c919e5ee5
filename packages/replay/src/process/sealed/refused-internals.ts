/** Ways around the modules of the platform: its own bindings, a debugger that others may reach, protocols that are new. */
import http2 from 'node:http2';
import inspector from 'node:inspector';
import net from 'node:net';
import { type AnyFunction, membersOf, refusal, type RefusalHost } from './ways-out.ts';

/** Bindings that reach the network or start processes. */
const BINDINGS: ReadonlySet<string> = new Set([
  'process_wrap',
  'spawn_sync',
  'tcp_wrap',
  'udp_wrap',
  'pipe_wrap',
  'cares_wrap',
  'quic',
]);

/** Replaces them. */
export function refuseInternals(host: RefusalHost): void {
  for (const name of ['binding', '_linkedBinding'] as const) {
    const original = membersOf(process)[name];
    if (!original) continue;
    membersOf(process)[name] = (binding: unknown) => {
      if (!BINDINGS.has(String(binding))) return Reflect.apply(original, process, [binding]) as unknown;
      host.refused(`binding ${String(binding)}`);
      throw refusal(`gives no binding ${String(binding)}`, 'EPERM', 'binding');
    };
  }
  Object.assign(inspector, {
    open: () => {
      host.refused('a debugger that listens');
      throw refusal('opens no debugger', 'EPERM', 'listen');
    },
  });
  const connect = http2.connect as AnyFunction;
  Object.assign(http2, {
    connect: (authority: unknown, ...rest: unknown[]) => {
      host.refused(`connection to ${String(authority)}`);
      const [options] = rest;
      const listener = rest.find((one) => typeof one === 'function');
      const given = typeof options === 'object' ? options : {};
      // Its errors come to the program where those of a server come that is not there.
      const createConnection = (): net.Socket => new net.Socket().destroy(refusal('opens no connection'));
      return connect(authority, { ...given, createConnection }, listener) as unknown;
    },
  });
  const quic = (process.getBuiltinModule as (id: string) => object | undefined)('node:quic');
  for (const name of ['connect', 'listen']) {
    if (!quic || typeof membersOf(quic)[name] !== 'function') continue;
    membersOf(quic)[name] = (address: unknown) => {
      host.refused(`connection to ${String(address)}`);
      return Promise.reject(refusal('opens no connection'));
    };
  }
}
