/** Gives the program the outside values on record, each source's in order. */
import type { DrawnValue } from '@orangebox/schema';
import type { Draw } from '../divergence/types.ts';

/** An outside value as the program sees it. */
type Drawn = number | string | bigint | Uint8Array;

/** Draws that are kept for an explanation. */
const KEPT_DRAWS = 2000;

/** Who is told of each value: the matcher, so that it can tell where a value in a request came from. */
export type DrawLearner = (recorded: Drawn, live: Drawn, from: { source: string; at: string }) => void;

/** Sources of the recorded values. */
export class DrawReplay {
  readonly #bySource: Map<string, { draws: DrawnValue[]; next: number }> = new Map();
  readonly #learn: DrawLearner;
  /** What was drawn, as far as it is kept. */
  readonly live: Draw[] = [];
  /** Draws so far. */
  count = 0;
  /** Draws for which nothing is on record. */
  extra = 0;

  constructor(recorded: readonly DrawnValue[], learn: DrawLearner) {
    this.#learn = learn;
    for (const draw of recorded) {
      const list = this.#bySource.get(draw.source);
      if (list) list.draws.push(draw);
      else this.#bySource.set(draw.source, { draws: [draw], next: 0 });
    }
  }

  /** The next value of a source; the platform's where none is on record. */
  draw<T extends Drawn>(source: string, at: string, real: () => T): T {
    this.count++;
    const list = this.#bySource.get(source);
    const recorded = list?.draws[list.next];
    const value = real();
    if (!list || !recorded) {
      this.extra++;
      this.#note(-1, source, at, value);
      // Time does not jump from the recording's to today's.
      const last = list?.draws.at(-1);
      return (
        (last && typeof value === 'number' && source !== 'Math.random' ? decode(last.value, value) : undefined) ?? value
      );
    }
    list.next++;
    const given = decode(recorded.value, value);
    this.#note(recorded.seq, source, at, given ?? value);
    if (given === undefined) return value;
    this.#learn(given, given, { source, at });
    return given;
  }

  /** Place of the earliest recorded value that was not drawn yet; undefined where all were. */
  get nextSeq(): number | undefined {
    let next: number | undefined;
    for (const list of this.#bySource.values()) {
      const seq = list.draws[list.next]?.seq;
      if (seq !== undefined && (next === undefined || seq < next)) next = seq;
    }
    return next;
  }

  #note(seq: number, source: string, at: string, value: Drawn): void {
    if (this.live.length < KEPT_DRAWS) this.live.push({ seq, source, at, value: textOf(value) });
  }
}

/** A recorded value in the form of the platform's; undefined where it has another, such as another number of bytes. */
function decode<T extends Drawn>(recorded: unknown, like: T): T | undefined {
  if (typeof like === 'number') return typeof recorded === 'number' ? (recorded as T) : undefined;
  if (typeof recorded !== 'string') return undefined;
  if (typeof like === 'string') return recorded as T;
  if (typeof like === 'bigint') return /^-?\d{1,30}$/.test(recorded) ? (BigInt(recorded) as T) : undefined;
  const bytes = Buffer.from(recorded, 'base64');
  return bytes.length === (like as Uint8Array).length ? (bytes as Uint8Array as T) : undefined;
}

/** A value as a reader is shown it. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value as string | number);
}
