/** Records when work of the platform was done, in batches. */
import type { DoneWork, WorkDoneRecord } from '@orangebox/schema';
import type { WorkPort } from './ports.ts';

/** So many are written together at most. */
const BATCH = 128;

/** What the log writes through. */
export interface WorkLogHost {
  nextDelivery(): number;
  record(record: WorkDoneRecord): void;
}

/** Has the work done, and notes when the program was told. */
export class WorkLog implements WorkPort {
  readonly #host: WorkLogHost;
  readonly #begun: Map<string, number> = new Map();
  #done: DoneWork[] = [];

  constructor(host: WorkLogHost) {
    this.#host = host;
  }

  begin(kind: string): (deliver: () => void) => void {
    const id = this.#next(kind);
    return (deliver) => {
      this.#note(kind, id);
      deliver();
    };
  }

  around(kind: string, run: (finished: () => void) => void): void {
    const id = this.#next(kind);
    run(() => this.#note(kind, id));
  }

  /** Writes what is held. */
  flush(): void {
    if (this.#done.length === 0) return;
    const done = this.#done;
    this.#done = [];
    this.#host.record({ type: 'workDone', done });
  }

  #next(kind: string): number {
    const id = this.#begun.get(kind) ?? 0;
    this.#begun.set(kind, id + 1);
    return id;
  }

  #note(kind: string, id: number): void {
    this.#done.push({ seq: this.#host.nextDelivery(), kind, id });
    if (this.#done.length >= BATCH) this.flush();
  }
}
