/** Short references: the shortest prefix of a span id that no other span of the store has. */

/** Shortest a reference may be. */
export const REF_MIN_LENGTH = 6;

/** References of a set of span ids. */
export class ShortRefs {
  readonly #sorted: string[];

  constructor(spanIds: Iterable<string>) {
    this.#sorted = [...new Set(spanIds)].sort();
  }

  /** The reference of a span id of the set. */
  of(spanId: string): string {
    const at = this.#find(spanId);
    const needed = Math.max(
      sharedLength(spanId, this.#sorted[at - 1]),
      sharedLength(spanId, this.#sorted[at + (this.#sorted[at] === spanId ? 1 : 0)]),
    );
    return spanId.slice(0, Math.max(REF_MIN_LENGTH, needed + 1));
  }

  /** The span ids that start with a prefix. */
  withPrefix(prefix: string): string[] {
    const found: string[] = [];
    for (let i = this.#find(prefix); this.#sorted[i]?.startsWith(prefix); i += 1) found.push(this.#sorted[i] ?? '');
    return found;
  }

  /** Index of the first id that is not before `text`. */
  #find(text: string): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? '') < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sharedLength(a: string, b: string | undefined): number {
  if (b === undefined) return 0;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i += 1;
  return i;
}
