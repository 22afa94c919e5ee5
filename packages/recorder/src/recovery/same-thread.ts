/**
 * A thread may have two series: what it keeps, and a journal of calls that were not decided yet. One that was killed as it
 * moved a call from the journal leaves it in both, whole in the one and open in the other.
 */
import type { Series } from './series-files.ts';

/** Remembers what ended in the other series of the thread that was looked at last; series come in the order of their start. */
export class SameThread {
  #name = '';
  #spanIds = new Set<string>();

  /** Ids of calls that ended in an earlier series of the same thread. */
  endedBefore({ id }: Series): ReadonlySet<string> {
    return this.#name === threadOf(id) ? this.#spanIds : new Set();
  }

  /** Takes in what ended in a series. */
  saw({ id }: Series, spanIds: ReadonlySet<string>): void {
    if (this.#name !== threadOf(id)) this.#spanIds = new Set();
    this.#name = threadOf(id);
    for (const spanId of spanIds) this.#spanIds.add(spanId);
  }
}

function threadOf({ host, pid, threadId }: Series['id']): string {
  return `${host}-${pid}-${threadId}`;
}
