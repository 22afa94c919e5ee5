/** Sockets that our code opens, names that it looks up, bytes that it sends elsewhere than to the receiver. */
import type { Tell } from './event-log.ts';
import { base64Of, watch } from './watch.ts';

/** What the watchers ask. */
export interface Asker {
  /** Whether our code is at work. */
  ours: () => boolean;
  tell: Tell;
  /** Port of the audit's receiver, which has the bytes itself. */
  receiverPort: number;
}

const LOOKUPS = [
  'lookup',
  'lookupService',
  'resolve',
  'resolve4',
  'resolve6',
  'resolveAny',
  'resolveCname',
  'resolveMx',
  'resolveNs',
  'resolveSrv',
  'resolveTxt',
  'reverse',
];

/** Watches `net`, `dgram` and `dns`, and what is written to standard output and error. */
export function watchNetwork({ ours, tell, receiverPort }: Asker): void {
  const net = process.getBuiltinModule('node:net');
  const dgram = process.getBuiltinModule('node:dgram');
  const dns = process.getBuiltinModule('node:dns');
  const elsewhere = new WeakMap<object, { host: string; port: string }>();
  watch(net.Socket.prototype, 'connect', (args, call, self) => {
    if (ours()) {
      const target = targetOf(args);
      tell({ t: 'socket', ...target });
      if (target.port !== String(receiverPort)) elsewhere.set(self as object, target);
    }
    return call();
  });
  watch(net.Server.prototype, 'listen', (args, call) => {
    if (ours()) tell({ t: 'listen', target: `${targetOf(args).host}:${targetOf(args).port}` });
    return call();
  });
  watch(dgram.Socket.prototype, 'send', (args, call) => {
    if (ours()) {
      const words = args.slice(1).filter((arg) => typeof arg === 'string' || typeof arg === 'number');
      tell({ t: 'udp', target: words.join(' '), data: base64Of(args[0]) });
    }
    return call();
  });
  for (const target of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype]) {
    for (const name of LOOKUPS) {
      watch(target, name, (args, call) => {
        if (ours()) tell({ t: 'dns', name: String(args[0]) });
        return call();
      });
    }
  }
  const stream = process.getBuiltinModule('node:stream');
  // `Duplex` has a copy of the method of `Writable`.
  for (const target of [stream.Writable.prototype, stream.Duplex.prototype]) {
    for (const name of ['write', 'end']) {
      watch(target, name, (args, call, self) => {
        const fd = (self as { fd?: unknown } | undefined)?.fd;
        if (fd === 1 || fd === 2) {
          if (typeof args[0] !== 'function' && args[0] !== undefined && ours())
            tell({ t: 'output', fd, text: Buffer.from(base64Of(args[0]), 'base64').toString() });
          return call();
        }
        const target = elsewhere.get(self as object);
        if (target !== undefined && typeof args[0] !== 'function' && args[0] !== undefined)
          tell({ t: 'bytes', ...target, data: base64Of(args[0]) });
        return call();
      });
    }
  }
}

/** Host and port of the arguments of `connect` or `listen`, in their several forms. */
function targetOf(args: unknown[]): { host: string; port: string } {
  const list: unknown[] = Array.isArray(args[0]) ? args[0] : args;
  const first = list[0];
  if (typeof first === 'object' && first !== null) {
    const { host, port, path } = first as { host?: unknown; port?: unknown; path?: unknown };
    if (typeof path === 'string') return { host: path, port: '' };
    return { host: textOf(host, 'localhost'), port: textOf(port, '') };
  }
  if (typeof first === 'string' && !/^\d+$/.test(first)) return { host: first, port: '' };
  return { host: typeof list[1] === 'string' ? list[1] : 'localhost', port: textOf(first, '') };
}

function textOf(value: unknown, fallback: string): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : fallback;
}
