/** Work of the platform, which is really done again: the program is told in the recorded order. */
import { AsyncResource } from 'node:async_hooks';
import type { DoneWork } from '@orangebox/schema';

/** The work of a thread. */
export class OrderedWork {
  readonly #recorded: Map<string, DoneWork> = new Map();
  readonly #begun: Map<string, number> = new Map();
  /** Under way. */
  readonly #underWay: Set<DoneWork> = new Set();
  /** Done, or waiting to be begun: what gives it to the program. */
  readonly #ready: Map<DoneWork, () => void> = new Map();
  readonly #passed: Set<DoneWork> = new Set();
  #running = 0;
  /** Changes with whatever is begun or done. */
  changes = 0;

  constructor(recorded: readonly DoneWork[]) {
    for (const work of recorded) this.#recorded.set(`${work.kind} ${work.id}`, work);
  }

  /** The program begins work. The result is called when it is done. */
  begin(kind: string): (deliver: () => void) => void {
    const work = this.#next(kind);
    if (work) this.#underWay.add(work);
    return (deliver) => {
      this.changes++;
      if (!work || this.#passed.has(work)) {
        deliver();
        return;
      }
      this.#underWay.delete(work);
      this.#ready.set(work, AsyncResource.bind(deliver));
    };
  }

  /** Work of which the program sees something before it is done: it is begun in its place, and nothing comes meanwhile. */
  around(kind: string, run: (finished: () => void) => void): void {
    const work = this.#next(kind);
    const start = AsyncResource.bind(() => {
      this.#running++;
      run(() => {
        this.#running--;
        this.changes++;
      });
    });
    if (!work || this.#passed.has(work)) start();
    else this.#ready.set(work, start);
  }

  isReady(work: DoneWork): boolean {
    return this.#ready.has(work);
  }

  /** Whether it was begun, and will be done. */
  isUnderWay(work: DoneWork): boolean {
    return this.#underWay.has(work);
  }

  /** Nothing else may come to the program now. */
  get isRunning(): boolean {
    return this.#running > 0;
  }

  give(work: DoneWork): void {
    const deliver = this.#ready.get(work);
    this.#ready.delete(work);
    deliver?.();
  }

  /** The program does not do it here: when it does, it is told at once. */
  pass(work: DoneWork): void {
    this.#passed.add(work);
    this.#underWay.delete(work);
  }

  #next(kind: string): DoneWork | undefined {
    this.changes++;
    const id = this.#begun.get(kind) ?? 0;
    this.#begun.set(kind, id + 1);
    return this.#recorded.get(`${kind} ${id}`);
  }
}
