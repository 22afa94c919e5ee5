import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ConnectionCounts, countConnections } from './connections.ts';

let counts: ConnectionCounts;
let claimed: WeakSet<object>;
let server: net.Server;
let port: number;

beforeEach(async () => {
  claimed = new WeakSet();
  counts = countConnections(
    (socket) => claimed.has(socket),
    () => false,
    { touched: () => undefined, isGiven: () => false, isUnreached: () => false, notReplayable: () => false },
  );
  server = net.createServer((socket) => socket.resume().on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(() => {
  counts.undo();
  server.close();
});

async function connectAndClose(socket: net.Socket = new net.Socket()): Promise<net.Socket> {
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  await once(socket, 'close');
  return socket;
}

it('counts of connections go on when the sockets are gone, which are held no longer', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const seen: WeakRef<net.Socket>[] = [];
  for (let i = 0; i < 300; i++) seen.push(new WeakRef(await connectAndClose()));
  await new Promise(setImmediate);
  collect();
  expect(seen.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(100);
  expect(counts.list()).toEqual([{ what: `connection to 127.0.0.1:${port}`, count: 300 }]);
});

it('a place that a recorded request went to counts for none, whatever else was opened there', async () => {
  for (let i = 0; i < 200; i++) {
    const socket = await connectAndClose();
    if (i === 100) claimed.add(socket);
  }
  expect(counts.list()).toEqual([]);
});

it('a socket that is used again was two connections', async () => {
  const socket = await connectAndClose();
  await connectAndClose(socket);
  expect(counts.list()).toEqual([{ what: `connection to 127.0.0.1:${port}`, count: 2 }]);
});

it('sockets that are open are counted as well', async () => {
  const open = net.connect(port, '127.0.0.1');
  await once(open, 'connect');
  expect(counts.list()).toEqual([{ what: `connection to 127.0.0.1:${port}`, count: 1 }]);
  open.destroy();
});
