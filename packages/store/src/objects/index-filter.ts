/**
 * What an index object may hold, in its first bytes: a Bloom filter in the extra field of the gzip header (RFC 1952, 2.3.1.1),
 * which everything that unpacks a gzip passes over. A search for one session of a million calls reads these few KB of each
 * object and unpacks only those that may have it. An object without one is read whole.
 */
import type { IndexRow } from '@orangebox/schema';

/** Bits per term and bits set by each: about 1 of 100 objects is opened for nothing. */
const BITS_PER_TERM = 10;
const HASHES = 7;

/** Largest filter: an extra field has 65,535 bytes at most. More terms make it less sharp, never wrong. */
const FILTER_MAX_BYTES = 60_000;

/** Values of which each is added once; what comes after may be added again, which only takes space. */
const SEEN_MAX = 200;

/** The subfield's id, and the version of what is in it. */
const SUBFIELD = [0x4f, 0x58] as const;
const VERSION = 1;

/** Digits of a span id by which prefixes are found: the shortest that a reference may have. */
const PREFIX_LENGTH = 6;

/** Terms by which rows are found. */
export const indexTerm = {
  session: (id: string): string => `s:${id}`,
  user: (id: string): string => `u:${id}`,
  span: (id: string): string => `i:${id}`,
  /** Undefined for a prefix that is too short to be looked up. */
  spanPrefix: (prefix: string): string | undefined =>
    prefix.length < PREFIX_LENGTH ? undefined : `p:${prefix.slice(0, PREFIX_LENGTH)}`,
  tool: (name: string): string => `t:${name}`,
  scope: (name: string): string => `c:${name}`,
};

/** Gathers the terms of the rows of one object. */
export class IndexFilter {
  /** Two hashes per term. */
  readonly #hashes: number[] = [];
  readonly #seen: Set<string> = new Set();

  /** Adds all that a row is found by. */
  add(row: IndexRow): void {
    const { spanId } = row.trace;
    this.#addTerm(indexTerm.span(spanId));
    this.#addTerm(indexTerm.spanPrefix(spanId));
    for (const id of row.attemptSpanIds ?? []) this.#addTerm(indexTerm.span(id));
    if (row.session) this.#addOnce(indexTerm.session(row.session.id));
    if (row.session?.userId !== undefined) this.#addOnce(indexTerm.user(row.session.userId));
    if (row.tool) this.#addOnce(indexTerm.tool(row.tool.name));
    for (const call of row.summary?.toolCalls ?? []) this.#addOnce(indexTerm.tool(call.name));
    for (const frame of row.scope) this.#addOnce(indexTerm.scope(frame.name));
  }

  #addOnce(term: string): void {
    if (this.#seen.has(term)) return;
    if (this.#seen.size < SEEN_MAX) this.#seen.add(term);
    this.#addTerm(term);
  }

  #addTerm(term: string | undefined): void {
    if (term !== undefined) this.#hashes.push(hash(term, 0x811c9dc5), hash(term, 0x9747b28c));
  }

  /** A gzip with this filter in its header. */
  stamp(gzip: Buffer): Buffer {
    const terms = this.#hashes.length / 2;
    const size = Math.min(FILTER_MAX_BYTES, Math.max(8, Math.ceil((terms * BITS_PER_TERM) / 8)));
    const bits = new Uint8Array(size);
    for (let i = 0; i < this.#hashes.length; i += 2) {
      for (const at of positions(this.#hashes[i] ?? 0, this.#hashes[i + 1] ?? 0, size)) {
        bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      }
    }
    const length = 2 + size;
    const field = Buffer.alloc(6);
    field.writeUInt16LE(4 + length, 0);
    field.set(SUBFIELD, 2);
    field.writeUInt16LE(length, 4);
    const header = Buffer.from(gzip.subarray(0, 10));
    header[3] = 4;
    return Buffer.concat([header, field, Uint8Array.of(VERSION, HASHES), bits, gzip.subarray(10)]);
  }
}

/**
 * Whether an object whose first bytes these are may hold a term. True also where nothing is known: no filter, one of
 * another version, or one that is cut.
 */
export function mayHold(start: Uint8Array, term: string): boolean {
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  if (start.length < 18 || start[0] !== 0x1f || start[1] !== 0x8b || ((start[3] ?? 0) & 4) === 0) return true;
  if (start[12] !== SUBFIELD[0] || start[13] !== SUBFIELD[1]) return true;
  const size = view.getUint16(14, true) - 2;
  if (start[16] !== VERSION || start[17] !== HASHES || size < 1 || start.length < 18 + size) return true;
  for (const at of positions(hash(term, 0x811c9dc5), hash(term, 0x9747b28c), size)) {
    if (((start[18 + (at >> 3)] ?? 0) & (1 << (at & 7))) === 0) return false;
  }
  return true;
}

/** How many first bytes of an object of this size hold its filter, in all likelihood. */
export function filterReach(sizeBytes: number): number {
  return Math.min(sizeBytes, Math.max(4_096, Math.ceil(sizeBytes / 24)));
}

function* positions(first: number, second: number, sizeBytes: number): Generator<number, void, undefined> {
  const bits = sizeBytes * 8;
  // Odd, and without a sign: a negative place would be none.
  const step = (second | 1) >>> 0;
  for (let i = 0; i < HASHES; i += 1) yield (first + i * step) % bits;
}

/** FNV-1a over the UTF-16 units of a text, its bits mixed at the end. */
function hash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
