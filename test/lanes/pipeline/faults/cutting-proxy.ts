/** A TCP proxy that cuts connections in the middle of what goes through them, while it is told to. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The proxy. */
export interface CuttingProxy {
  /** The target's address, by way of the proxy. */
  readonly url: string;
  /** While true, each connection has an even chance to be reset, again and again after a random number of bytes. */
  isCutting: boolean;
  /** Connections that were reset. */
  readonly cuts: number;
  close(): Promise<void>;
}

const CUT_SHARE = 0.5;
/** Small payloads take some KB, parts of large ones up to 8 MiB: both are met in their middle. */
const CUT_WITHIN_BYTES = [2_000, 20_000, 4 * 2 ** 20];

function someBytes(): number {
  return Math.random() * (CUT_WITHIN_BYTES[Math.floor(Math.random() * CUT_WITHIN_BYTES.length)] ?? 0);
}

/** Starts one before a server. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const onward = connect(Number(port), hostname);
    let left = someBytes();
    for (const socket of [client, onward]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
    }
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (bytes: Buffer) => {
        if (proxy.isCutting) left -= bytes.length;
        const isOver = left < 0;
        const isCut = isOver && Math.random() < CUT_SHARE;
        if (isOver && !isCut) left = someBytes();
        if (!isCut) {
          if (!to.write(bytes)) {
            from.pause();
            to.once('drain', () => from.resume());
          }
          return;
        }
        // What came before the cut has gone on, so that the server has the beginning of a request.
        to.write(bytes.subarray(0, Math.max(0, bytes.length + left)));
        cuts += 1;
        client.resetAndDestroy();
        onward.resetAndDestroy();
      });
      from.on('end', () => to.end());
      from.on('close', () => to.destroy());
    };
    pass(client, onward);
    pass(onward, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isCutting: false,
    get cuts() {
      return cuts;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
