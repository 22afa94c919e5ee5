/** Finds known secrets (of the environment, learned from headers) in a body, in every written form. */
import type { Edit, Finder, Pending } from './finder.ts';
import type { NeedleHit } from './needles.ts';
import type { SecretSet } from './secret-set.ts';

/** Searches pending bytes for the secrets of a {@link SecretSet}, which may grow meanwhile. */
export class SecretFinder implements Finder {
  readonly #secrets: SecretSet;
  #from = 0;

  constructor(secrets: SecretSet) {
    this.#secrets = secrets;
  }

  scan(pending: Pending, edits: Edit[]): number {
    const { bytes, size, final } = pending;
    const { needles } = this.#secrets;
    if (needles.longestBytes === 0) return size;
    let decided = final ? size : needles.cutAt(bytes, this.#from, size);
    const hits: NeedleHit[] = [];
    needles.find(bytes, this.#from, size, hits);
    for (const hit of hits) {
      // What begins where a longer secret may still come is looked at again.
      if (hit.start >= decided) break;
      edits.push({ start: hit.start, end: hit.end, token: this.#secrets.tokenOf(hit.id) });
      if (hit.end > decided) decided = hit.end;
    }
    this.#from = decided;
    return decided;
  }

  shift(sizeBytes: number): void {
    this.#from = Math.max(0, this.#from - sizeBytes);
  }
}
