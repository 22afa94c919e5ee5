/** Values that stand for others one to one: ids, paths, names of hosts. */
import { isCharByByte } from './drawn-characters.ts';

/** A shorter text is found anywhere. */
const LENGTH_MIN = 4;
/** A shorter piece of an id is found in others. */
const SLICE_MIN = 6;
/** Longest value that is looked for as a whole. */
const LENGTH_MAX = 512;
/** Ids that are looked through for a piece, newest first. */
const SLICED_MAX = 2048;
/** Drawn bytes that are looked through for an id made of them, newest first. */
const BYTE_DRAWS_MAX = 64;

/** Pairs that were learned. A value that was learned to be two others is none of them. */
export class Identities {
  readonly #forward: Map<string, string> = new Map();
  readonly #backward: Map<string, string> = new Map();
  readonly #lengths: Set<number> = new Set();
  #sorted: number[] | undefined;
  readonly #broken: Set<string> = new Set();
  readonly #bytes: { recorded: Uint8Array; live: Uint8Array }[] = [];

  get size(): number {
    return this.#forward.size;
  }

  /** Lengths of the recorded values, longest first. */
  get lengths(): readonly number[] {
    return (this.#sorted ??= [...this.#lengths].sort((a, b) => b - a));
  }

  add(recorded: string, live: string): void {
    if (recorded === live || recorded.length < LENGTH_MIN || live.length < LENGTH_MIN) return;
    if (recorded.length > LENGTH_MAX || this.#broken.has(recorded) || this.#broken.has(live)) return;
    const known = this.#forward.get(recorded);
    const other = this.#backward.get(live);
    if ((known ?? live) === live && (other ?? recorded) === recorded) {
      this.#forward.set(recorded, live);
      this.#backward.set(live, recorded);
      if (!this.#lengths.has(recorded.length)) this.#sorted = undefined;
      this.#lengths.add(recorded.length);
      return;
    }
    for (const value of [recorded, other]) if (value !== undefined) this.#break(value);
  }

  /** Bytes that a program drew: what it writes of them is hex, base64, a UUID, or an alphabet of its own. */
  addBytes(recorded: Uint8Array, live: Uint8Array): void {
    if (this.#bytes.length >= 2 * BYTE_DRAWS_MAX) this.#bytes.splice(0, BYTE_DRAWS_MAX);
    this.#bytes.push({ recorded, live });
    if (recorded.length > LENGTH_MAX / 2 || recorded.length !== live.length) return;
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      this.add(Buffer.from(recorded).toString(encoding), Buffer.from(live).toString(encoding));
    }
    if (recorded.length === 16) this.add(uuidOf(recorded), uuidOf(live));
  }

  /** The live value that stands for a recorded one. */
  liveOf(recorded: string): string | undefined {
    return this.#forward.get(recorded);
  }

  /** The recorded value that a live one stands for. */
  recordedOf(live: string): string | undefined {
    return this.#backward.get(live);
  }

  /** Whether two texts are the same piece of a value and of the one that stands for it. */
  isSlice(recorded: string, live: string): boolean {
    if (recorded.length < SLICE_MIN || recorded.length !== live.length) return false;
    let left = SLICED_MAX;
    for (const [value, other] of [...this.#forward].reverse()) {
      if (--left < 0) return false;
      for (const form of [same, withoutDashes]) {
        const at = form(value).indexOf(recorded);
        if (at >= 0 && form(other).startsWith(live, at)) return true;
      }
    }
    return false;
  }

  /** Whether two texts are written in some alphabet by the same bytes. */
  isWritten(recorded: string, live: string): boolean {
    return this.#bytes.some((draw) => isCharByByte(recorded, live, draw.recorded, draw.live));
  }

  #break(recorded: string): void {
    const live = this.#forward.get(recorded);
    this.#forward.delete(recorded);
    this.#broken.add(recorded);
    if (live === undefined) return;
    this.#backward.delete(live);
    this.#broken.add(live);
  }
}

const same = (text: string): string => text;
const withoutDashes = (text: string): string => text.replaceAll('-', '');

/** A version 4 UUID of sixteen drawn bytes. */
function uuidOf(bytes: Uint8Array): string {
  const fixed = Uint8Array.from(bytes);
  fixed[6] = ((fixed[6] ?? 0) & 0x0f) | 0x40;
  fixed[8] = ((fixed[8] ?? 0) & 0x3f) | 0x80;
  return Buffer.from(fixed)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
