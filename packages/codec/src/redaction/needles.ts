/** Searching bytes for many sequences at once (Wu and Manber's way: long jumps over what cannot match). */

/** Bytes hashed at a time. */
const BLOCK_BYTES = 3;
const TABLE_SIZE = 1 << 16;

function hash(a: number, b: number, c: number): number {
  return (a ^ (b << 5) ^ (c << 10)) & (TABLE_SIZE - 1);
}

/** A found sequence: `[start, end)` of the bytes and the number that the sequence was added with. */
export interface NeedleHit {
  start: number;
  end: number;
  id: number;
}

/** An immutable set of byte sequences to search for, each at least {@link BLOCK_BYTES} long. */
export class NeedleSet {
  /** Length of the longest sequence, 0 without any. */
  readonly longestBytes: number;
  readonly #needles: readonly { bytes: Uint8Array; id: number }[];
  /** Length of the shortest sequence: the window that jumps are computed in. */
  readonly #shortest: number;
  /** How far the window may jump when it ends with a block. */
  readonly #jumps: Uint8Array;
  /** Sequences whose window ends with a block of a hash, longest first. */
  readonly #byBlock: Map<number, number[]> = new Map();
  /** 1 for hashes of blocks that a sequence begins with. */
  readonly #firstBlocks: Uint8Array;
  readonly #byFirstByte: (number[] | undefined)[] = [];

  constructor(needles: Iterable<{ bytes: Uint8Array; id: number }>) {
    this.#needles = [...needles].sort((a, b) => b.bytes.length - a.bytes.length);
    this.longestBytes = this.#needles[0]?.bytes.length ?? 0;
    this.#shortest = Math.min(this.#needles.at(-1)?.bytes.length ?? 0, 200);
    this.#jumps = new Uint8Array(this.longestBytes === 0 ? 0 : TABLE_SIZE).fill(
      Math.max(1, this.#shortest - BLOCK_BYTES + 1),
    );
    this.#firstBlocks = new Uint8Array(this.#jumps.length);
    for (const [index, { bytes }] of this.#needles.entries()) this.#add(index, bytes);
  }

  #add(index: number, bytes: Uint8Array): void {
    for (let end = BLOCK_BYTES - 1; end < this.#shortest; end++) {
      const block = hash(bytes[end - 2] ?? 0, bytes[end - 1] ?? 0, bytes[end] ?? 0);
      const jump = this.#shortest - 1 - end;
      if (jump < (this.#jumps[block] ?? 0)) this.#jumps[block] = jump;
      if (jump === 0) {
        const others = this.#byBlock.get(block);
        if (others) others.push(index);
        else this.#byBlock.set(block, [index]);
      }
    }
    const first = bytes[0] ?? 0;
    this.#firstBlocks[hash(first, bytes[1] ?? 0, bytes[2] ?? 0)] = 1;
    const others = this.#byFirstByte[first];
    if (others) others.push(index);
    else this.#byFirstByte[first] = [index];
  }

  /** All hits that lie within `[from, to)`, in order, not overlapping; at one place the longest. */
  find(buffer: Uint8Array, from: number, to: number, hits: NeedleHit[]): void {
    if (this.longestBytes === 0) return;
    const bytes = buffer as ArrayLike<number> as number[];
    const jumps = this.#jumps as ArrayLike<number> as number[];
    let end = from + this.#shortest - 1;
    while (end < to) {
      const block = hash(bytes[end - 2] as number, bytes[end - 1] as number, bytes[end] as number);
      const jump = jumps[block] as number;
      if (jump > 0) {
        end += jump;
        continue;
      }
      const start = end - this.#shortest + 1;
      const hit = this.#hitAt(buffer, start, to, block);
      if (hit) {
        hits.push(hit);
        end = hit.end + this.#shortest - 1;
      } else end++;
    }
  }

  #hitAt(buffer: Uint8Array, start: number, to: number, block: number): NeedleHit | undefined {
    for (const index of this.#byBlock.get(block) ?? []) {
      const needle = this.#needles[index];
      if (needle && start + needle.bytes.length <= to && matches(buffer, start, needle.bytes, needle.bytes.length)) {
        return { start, end: start + needle.bytes.length, id: needle.id };
      }
    }
    return undefined;
  }

  /** Where the first sequence may begin that `[from, to)` cuts off; `to` when the end of the bytes cuts none. */
  cutAt(buffer: Uint8Array, from: number, to: number): number {
    for (let at = Math.max(from, to - this.longestBytes + 1); at < to; at++) {
      if (at + 2 < to) {
        const block = hash(buffer[at] ?? 0, buffer[at + 1] ?? 0, buffer[at + 2] ?? 0);
        if (this.#firstBlocks[block] === 0) continue;
      }
      const candidates = this.#byFirstByte[buffer[at] ?? 0];
      if (candidates === undefined) continue;
      for (const index of candidates) {
        const needle = this.#needles[index];
        if (needle && needle.bytes.length > to - at && matches(buffer, at, needle.bytes, to - at)) return at;
      }
    }
    return to;
  }
}

function matches(buffer: Uint8Array, start: number, needle: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (buffer[start + i] !== needle[i]) return false;
  return true;
}
