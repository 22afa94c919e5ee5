/** A map of several values per key, for the case that nearly every key has one: a set of its own for each takes 250 bytes. */
export class MultiMap<V extends object> {
  readonly #values = new Map<string, V | Set<V>>();

  /** The values of a key in the order they were added, or nothing. */
  get(key: string): readonly V[] {
    const found = this.#values.get(key);
    if (found === undefined) return [];
    return found instanceof Set ? [...found] : [found];
  }

  /** Adds a value to those of a key. */
  add(key: string, value: V): void {
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, value);
    else if (known instanceof Set) known.add(value);
    else if (known !== value) this.#values.set(key, new Set([known, value]));
  }

  /** Takes a value from those of a key. */
  delete(key: string, value: V): void {
    const known = this.#values.get(key);
    if (known === value) this.#values.delete(key);
    else if (known instanceof Set && known.delete(value) && known.size === 0) this.#values.delete(key);
  }
}
