/** Replaces the secrets in one body, chunk by chunk, without holding a byte longer than it may be part of one. */
import type { Redaction } from '@orangebox/schema';
import { concatBytes, EMPTY_BYTES, utf8 } from '../bytes.ts';
import { CONTEXT_BYTES, type Edit, type Finder, type Pending } from './finder.ts';
import type { RedactionCounter } from './tokens.ts';

/** Redacts one body. Chunks come back in order, each once, when it is certain what they hold. */
export class BodyRedactor {
  readonly #finders: readonly Finder[];
  readonly #counter: RedactionCounter;
  readonly #where: string;
  /** Bytes that are not finished; a chunk itself where nothing was held, else a growing copy. */
  #bytes: Uint8Array = EMPTY_BYTES;
  #size = 0;
  #owned = false;
  /** Unfinished chunks; they stand in `#bytes` one after the other. */
  #chunks: Uint8Array[] = [];
  #edits: Edit[] = [];
  #recent: Uint8Array[] = [];
  #recentBytes = 0;

  /** Made by `Redactor.body`. */
  constructor(finders: readonly Finder[], counter: RedactionCounter, where: string) {
    this.#finders = finders;
    this.#counter = counter;
    this.#where = where;
  }

  /**
   * Takes the next chunk and gives back the chunks that are finished: one for each that was pushed, in order, the same
   * array where nothing in it was replaced. Replaced bytes belong to the chunk where the secret began; a chunk that
   * lay within a secret comes back empty. The bytes must not change until some later chunks have come.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    this.#append(chunk);
    return this.#finish(false);
  }

  /** The body ended: gives back the chunks that were held. */
  end(): Uint8Array[] {
    return this.#finish(true);
  }

  /** What was replaced so far. */
  get redactions(): Redaction[] {
    return this.#counter.list();
  }

  /** Bytes held at present: pushed and not yet given back. */
  get heldBytes(): number {
    return this.#size;
  }

  #append(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    if (this.#size === 0) {
      this.#bytes = chunk;
      this.#owned = false;
    } else {
      const size = this.#size + chunk.length;
      if (!this.#owned || size > this.#bytes.length) {
        const grown = new Uint8Array(Math.max(size, this.#size * 2));
        grown.set(this.#bytes.subarray(0, this.#size));
        this.#bytes = grown;
        this.#owned = true;
      }
      this.#bytes.set(chunk, this.#size);
    }
    this.#size += chunk.length;
  }

  #finish(final: boolean): Uint8Array[] {
    const pending: Pending = {
      bytes: this.#bytes,
      size: this.#size,
      final,
      context: () => concatBytes(this.#recent),
    };
    let decided = this.#size;
    for (const finder of this.#finders) decided = Math.min(decided, finder.scan(pending, this.#edits));
    const finished: Uint8Array[] = [];
    let at = 0;
    for (const chunk of this.#chunks) {
      if (at + chunk.length > decided) break;
      finished.push(chunk);
      at += chunk.length;
    }
    if (finished.length === 0) return finished;
    this.#chunks.splice(0, finished.length);
    const out = this.#edits.length === 0 ? finished : this.#apply(finished);
    this.#drop(at, finished);
    return out;
  }

  #apply(finished: readonly Uint8Array[]): Uint8Array[] {
    const edits = mergeEdits(this.#edits);
    let start = 0;
    let next = 0;
    return finished.map((chunk) => {
      const end = start + chunk.length;
      const parts: Uint8Array[] = [];
      let at = start;
      for (let edit = edits[next]; edit && edit.start < end; edit = edits[next]) {
        if (edit.start > at) parts.push(chunk.subarray(at - start, edit.start - start));
        if (edit.token !== '' && edit.start >= at) {
          parts.push(utf8(edit.token));
          this.#counter.add(this.#where, edit.token);
        }
        at = Math.max(at, Math.min(edit.end, end));
        if (edit.end > end) break;
        next++;
      }
      const untouched = parts.length === 0 && at === start;
      if (at < end) parts.push(chunk.subarray(at - start));
      start = end;
      return untouched ? chunk : concatBytes(parts);
    });
  }

  /** Forgets finished bytes; what of an edit reaches beyond them stays to be left out. */
  #drop(sizeBytes: number, finished: readonly Uint8Array[]): void {
    for (const finder of this.#finders) finder.shift(sizeBytes);
    if (this.#edits.length > 0) {
      this.#edits = mergeEdits(this.#edits)
        .filter((edit) => edit.end > sizeBytes)
        .map(({ start, end, token }) =>
          start < sizeBytes
            ? { start: 0, end: end - sizeBytes, token: '' }
            : { start: start - sizeBytes, end: end - sizeBytes, token },
        );
    }
    this.#size -= sizeBytes;
    if (this.#size === 0) this.#bytes = EMPTY_BYTES;
    else if (this.#owned) this.#bytes.copyWithin(0, sizeBytes, sizeBytes + this.#size);
    else this.#bytes = this.#bytes.subarray(sizeBytes);
    for (const chunk of finished) {
      if (chunk.length === 0) continue;
      this.#recent.push(chunk);
      this.#recentBytes += chunk.length;
    }
    while (this.#recentBytes - (this.#recent[0]?.length ?? 0) >= CONTEXT_BYTES) {
      this.#recentBytes -= this.#recent.shift()?.length ?? 0;
    }
  }
}

/** Edits in order; where some overlap, one over all of their bytes with the token of the first. */
function mergeEdits(edits: readonly Edit[]): Edit[] {
  const merged: Edit[] = [];
  // What goes on from before the pending bytes comes first: its token is out already.
  const inOrder = (a: Edit, b: Edit): number =>
    a.start - b.start || Number(a.token !== '') - Number(b.token !== '') || b.end - a.end;
  for (const edit of [...edits].sort(inOrder)) {
    const last = merged.at(-1);
    if (last && edit.start < last.end) last.end = Math.max(last.end, edit.end);
    else merged.push({ ...edit });
  }
  return merged;
}
