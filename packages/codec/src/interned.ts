/** One copy of texts that come again and again, such as the digest of a system prompt: each call would keep one of its own. */
export class Interned {
  readonly #texts = new Map<string, string>();
  readonly #max: number;

  /** Begins anew after `max` different texts. */
  constructor(max = 256) {
    this.#max = max;
  }

  /** The first text that was equal. */
  of(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= this.#max) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}
