/** Output of a child that is the program's own, brought there by us so that it is on record. */
import type { ChildProcess } from 'node:child_process';
import { readSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { OutputName } from './child-options.ts';
import { replaceMethod } from './replace.ts';

/** More than the system holds for a pipe. */
const MAX_READS = 32;
const READ_BYTES = 64 * 1024;

/**
 * Brings it from now on. As without us, the program has no stream of it, `close` does not wait for it, and it keeps no program
 * running: the child itself does. The result brings what is there at once, before the program is told of the child's end, or
 * ends itself.
 */
export function bringOutput(child: ChildProcess, name: OutputName, take: (bytes: Buffer) => void): () => void {
  const stream = child[name] as Socket | null;
  if (!stream) return () => undefined;
  const streams = child.stdio as unknown[];
  const fd = streams.indexOf(stream);
  if (fd >= 0) streams[fd] = null;
  Object.assign(child, { [name]: null });
  doNotWaitFor(stream, child);
  replaceMethod(stream, 'push', (original) => {
    const { push } = {
      push(this: unknown, ...args: unknown[]): unknown {
        const [chunk] = args;
        if (!(chunk instanceof Uint8Array)) return Reflect.apply(original, stream, args) as unknown;
        take(Buffer.from(chunk));
        return true;
      },
    };
    return push;
  });
  stream.on('error', () => undefined);
  stream.resume();
  stream.unref();
  return () => {
    readAll(stream, take);
  };
}

/** The platform counts the streams that have to close before it says `close`. */
function doNotWaitFor(stream: Socket, child: ChildProcess): void {
  const counts = child as unknown as { _closesNeeded?: unknown };
  // Where the child could not be started, the stream was not counted.
  if (typeof counts._closesNeeded !== 'number' || stream.listenerCount('close') !== 1) return;
  stream.removeAllListeners('close');
  counts._closesNeeded--;
}

function readAll(stream: Socket, take: (bytes: Buffer) => void): void {
  const { _handle: handle } = stream as unknown as { _handle?: { fd?: unknown } | null };
  const fd = handle?.fd;
  // Some systems have no descriptor of it.
  if (typeof fd !== 'number' || fd < 0) return;
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let i = 0; i < MAX_READS; i++) {
    let size: number;
    try {
      size = readSync(fd, buffer, 0, buffer.length, null);
    } catch {
      // Nothing is there now.
      return;
    }
    if (size === 0) return;
    take(Buffer.from(buffer.subarray(0, size)));
  }
}
