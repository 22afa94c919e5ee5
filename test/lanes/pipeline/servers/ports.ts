/** Free ports of this machine, so that no two test processes are ever given the same one. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Below the range that the kernel takes the ports of outgoing connections from, which could be in the way at any moment. */
const FIRST = 20_000;
const LAST = 31_999;
const reservations = join(tmpdir(), 'orangebox-test-ports');
const held = new Set<string>();

process.on('exit', () => {
  for (const file of held) remove(file);
});

/** Reserves ports until this process ends: each is free now, and no other test process takes it. */
export async function freePorts(count: number): Promise<number[]> {
  mkdirSync(reservations, { recursive: true });
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (reserve(join(reservations, String(port))) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

/** Reserves one port. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}

function reserve(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    held.add(file);
    return true;
  } catch {
    // Left by a process that was killed: free it, and let a later try have it.
    if (!holderLives(file)) remove(file);
    return false;
  }
}

function holderLives(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, 'utf8')) || process.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Another process was quicker.
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  const free = await listening;
  if (free) {
    server.close();
    await once(server, 'close');
  }
  return free;
}
