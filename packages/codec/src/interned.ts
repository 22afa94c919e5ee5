/** Different texts after which it begins anew. */
const MAX_TEXTS = 256;

/** One copy of texts that come again and again, such as the digest of a system prompt: each call would keep one of its own. */
export class Interned {
  readonly #texts = new Map<string, string>();

  /** The first text that was equal. */
  of(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= MAX_TEXTS) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}
