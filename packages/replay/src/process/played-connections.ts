/** Connections that recorded requests go over: there for those requests, and for nothing else. */
import type { AskedRequests } from './asked-requests.ts';
import type { Course } from './course.ts';
import { platform } from './platform.ts';
import type { Peer, ReplaySocket } from './replay-socket.ts';
import { neverConnected } from './run-events.ts';

/** The connections of a thread. */
export class PlayedConnections {
  readonly #requests: AskedRequests;
  readonly #course: Course;
  /** Servers that requests went to. */
  readonly #peers: Set<string> = new Set();

  constructor(requests: AskedRequests, course: Course) {
    this.#requests = requests;
    this.#course = course;
  }

  /** Whether a request is about to go to a peer. A client may open more connections than it has requests; they stay silent. */
  isExpected(peer: Peer): boolean {
    return this.#requests.waitingFor(peer) !== undefined || this.#peers.has(nameOf(peer));
  }

  /** A client opened one. */
  opened(socket: ReplaySocket): void {
    this.#course.moved();
    this.#peers.add(nameOf(socket.peer));
    // No connection is there in the turn that asks for it; and in the next one it is known which request it is for.
    platform.setImmediate(() => {
      const asked = this.#requests.waitingFor(socket.peer);
      if (!asked?.recorded || !neverConnected(asked.recorded)) socket.establish();
      // The refusal comes in its place of the order.
      else asked.connection = socket;
    });
  }
}

function nameOf({ secure, host, port }: Peer): string {
  return `${secure} ${host}:${port}`;
}
