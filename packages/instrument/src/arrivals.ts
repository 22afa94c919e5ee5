/** Of a run: when bytes come over a connection, which a paused client sees much later. */
import { tapMethod } from './method-tap.ts';

const listeners: WeakMap<object, () => void> = new WeakMap();

/** Tells of bytes that come over a socket, before the client has them. The newest listener of a connection counts. */
export function onArrival(socket: object, tell: () => void): void {
  if (!listeners.has(socket)) {
    tapMethod(socket, 'push', {
      before: ([chunk]) => {
        if (chunk !== null) listeners.get(socket)?.();
      },
    });
  }
  listeners.set(socket, tell);
}
