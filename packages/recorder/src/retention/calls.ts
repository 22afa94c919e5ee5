/** Calls as retention sees them: where they stand, how large they are, and when they may go. */

/** Why a call goes. `passed_over`: readers do so already. */
export type GoingReason = 'dir_bytes' | 'dir_age' | 'passed_over';

/** A call, a tool execution, or an exchange that no call names yet. */
export interface KnownCall {
  spanId: string;
  startMs: number;
  sizeBytes: number;
  /** First and last file of the series that its records stand in (places in the list of files). */
  first: number;
  last: number;
  /** A start, a `callEnd` or a `tool` record is there; else it is what was left of a call. */
  isKnown: boolean;
  /** An exchange of it has no start on record. */
  lacksStart: boolean;
  isEnded: boolean;
  isFailed: boolean;
  isShipped: boolean;
  isForgotten: boolean;
  goes: GoingReason | undefined;
}

/** Order in which calls go where room is needed; 0 is of no use to anybody. */
export type CallClass = 0 | 1 | 2 | 3 | 4;
/** The classes, first to go first. */
export const CALL_CLASSES: readonly CallClass[] = [0, 1, 2, 3, 4];

/** Class of a call that stands in whole files. */
export function classOf(call: KnownCall): CallClass {
  if (!call.isEnded) return call.isForgotten || !call.isKnown ? 0 : 4;
  if (call.isFailed) return call.isShipped ? 3 : 4;
  return call.isShipped ? 1 : 2;
}

/** A map in small parts, so that it never stops to grow all at once. */
export class PartedMap<K extends string | number, V> {
  readonly #parts: (Map<K, V> | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#parts[partOf(key)]?.get(key);
  }

  set(key: K, value: V): void {
    const at = partOf(key);
    const part = (this.#parts[at] ??= new Map());
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  *entries(): IterableIterator<[K, V]> {
    for (const part of this.#parts) if (part) yield* part;
  }
}

const PARTS = 256;

function partOf(key: string | number): number {
  return typeof key === 'number' ? key % PARTS : Number.parseInt(key.slice(-2), 16) % PARTS || 0;
}
