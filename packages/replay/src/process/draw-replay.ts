/** Gives the program the outside values on record, each source's in order. */
import type { DrawnValue } from '@orangebox/schema';
import type { Draw } from '../divergence/types.ts';
import { placeKey, type UnpinnedDraws } from './unpinned-draws.ts';

/** An outside value as the program sees it. */
type Drawn = number | string | bigint | Uint8Array;

/** Draws that are kept for an explanation. */
export const KEPT_DRAWS = 2000;

/** Who is told of each value: the matcher, so that it can tell where a value in a request came from. */
export type DrawLearner = (recorded: Drawn, live: Drawn, from: { source: string; at: string }) => void;

/** Recorded values of one source, or of one place in the code. */
class Queue {
  readonly #draws: DrawnValue[] = [];
  #next = 0;

  add(draw: DrawnValue): void {
    this.#draws.push(draw);
  }

  /** The earliest that was not drawn. */
  first(drawn: ReadonlySet<DrawnValue>): DrawnValue | undefined {
    for (;;) {
      const draw = this.#draws[this.#next];
      if (!draw || !drawn.has(draw)) return draw;
      this.#next++;
    }
  }

  get last(): DrawnValue | undefined {
    return this.#draws.at(-1);
  }
}

/**
 * The recorded values. A caller gets the next of those that were drawn at the same place in the code, else, since code moves,
 * the next of the source: a library that asks once more than it did takes nobody else's value.
 */
export class DrawReplay {
  readonly #bySource: Map<string, Queue> = new Map();
  readonly #byPlace: Map<string, Queue> = new Map();
  readonly #drawn: Set<DrawnValue> = new Set();
  readonly #all: Queue = new Queue();
  readonly #learn: DrawLearner;
  readonly #unpinned: UnpinnedDraws | undefined;
  /** What was drawn, as far as it is kept. */
  readonly live: Draw[] = [];
  /** Draws so far. */
  count = 0;
  /** Draws for which nothing is on record. */
  extra = 0;

  constructor(recorded: readonly DrawnValue[], learn: DrawLearner, unpinned?: UnpinnedDraws) {
    this.#learn = learn;
    this.#unpinned = unpinned;
    for (const draw of recorded) {
      this.#all.add(draw);
      queueOf(this.#bySource, draw.source).add(draw);
      if (draw.at !== undefined) queueOf(this.#byPlace, placeKey(draw.source, draw.at)).add(draw);
    }
  }

  /** The next value of a source; the platform's where none is on record. */
  draw<T extends Drawn>(source: string, at: string, real: () => T): T {
    this.count++;
    const place = this.#byPlace.get(placeKey(source, at));
    const list = this.#bySource.get(source);
    // A place that is on record has its own values only.
    const recorded = (place ?? list)?.first(this.#drawn);
    const value = real();
    const unpinned = this.#unpinned?.has(source, at) === true ? this.#unpinned : undefined;
    if (!recorded) {
      this.extra++;
      if (unpinned) {
        const live = unpinned.another(source, value, real);
        this.#note(-1, source, at, live);
        return live;
      }
      this.#note(-1, source, at, value);
      // Time does not jump from the recording's to today's.
      const last = (place ?? list)?.last;
      const isClock = typeof value === 'number' && source !== 'Math.random';
      return (last && isClock ? decode(last.value, value) : undefined) ?? value;
    }
    this.#drawn.add(recorded);
    const given = decode(recorded.value, value);
    if (given === undefined) {
      this.#note(recorded.seq, source, at, value);
      return value;
    }
    const live = unpinned ? unpinned.another(source, given, real) : given;
    this.#note(recorded.seq, source, at, live);
    if (unpinned?.isUnified !== false) this.#learn(given, live, { source, at });
    return live;
  }

  /** Place of the earliest recorded value that was not drawn yet; undefined where all were. */
  get nextSeq(): number | undefined {
    return this.#all.first(this.#drawn)?.seq;
  }

  #note(seq: number, source: string, at: string, value: Drawn): void {
    if (this.live.length < KEPT_DRAWS) this.live.push({ seq, source, at, value: textOf(value) });
  }
}

function queueOf(queues: Map<string, Queue>, key: string): Queue {
  let queue = queues.get(key);
  if (!queue) {
    queue = new Queue();
    queues.set(key, queue);
  }
  return queue;
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
