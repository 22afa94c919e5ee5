/** What comes of other threads, which really run: held until the recording says that it came. */
import { AsyncResource } from 'node:async_hooks';
import type { ThreadEventKind, ThreadEventRecord } from '@orangebox/schema';

/** Gives a thread what others sent it, in recorded order. */
export class HeldThreads {
  readonly #isOnRecord: boolean;
  readonly #held: Map<string, (() => void)[]> = new Map();
  readonly #ended: Set<number> = new Set();
  /** Changes with whatever comes. */
  arrivals = 0;

  constructor(events: readonly ThreadEventRecord[]) {
    // Recordings that know nothing of other threads leave it to them when they come.
    this.#isOnRecord = events.length > 0;
  }

  /** Something came. What never comes on record is never given: the recorded program had ended before. */
  came(kind: ThreadEventKind, worker: number | undefined, deliver: () => void): void {
    this.arrivals++;
    if (!this.#isOnRecord) {
      deliver();
      return;
    }
    if (kind === 'exit' && worker !== undefined) this.#ended.add(worker);
    const key = keyOf(kind, worker);
    const list = this.#held.get(key) ?? [];
    this.#held.set(key, list);
    list.push(AsyncResource.bind(deliver));
  }

  /** Whether it is here. */
  isHere({ kind, worker }: ThreadEventRecord): boolean {
    return (this.#held.get(keyOf(kind, worker))?.length ?? 0) > 0;
  }

  /** Whether it may still come, since there is somebody who may send it. */
  mayCome({ worker }: ThreadEventRecord): boolean {
    return worker === undefined || !this.#ended.has(worker);
  }

  give({ kind, worker }: ThreadEventRecord): void {
    this.#held.get(keyOf(kind, worker))?.shift()?.();
  }
}

function keyOf(kind: ThreadEventKind, worker: number | undefined): string {
  return `${kind} ${worker ?? 'parent'}`;
}
