/** Outside values that are not those on record: another clock, other random values, ids and names, from all places or some. */

/** What a replay leaves to the platform. */
export interface UnpinnedPlan {
  /** Places as {@link placeKey} names them; without it all are. */
  places?: readonly string[];
  /**
   * Whether a request may hold such a value where it held the recorded one, one to one over the run. Otherwise the first request
   * that one of them reaches is a divergence, which is how they are found.
   */
  isUnified: boolean;
}

/** Names a place in the code that draws from a source. */
export function placeKey(source: string, at = ''): string {
  return `${source} ${at}`;
}

/** Readings of a clock above it are times since the epoch, in milliseconds. */
const EPOCH_MIN_MS = 100_000_000_000;
/** Thirty-seven days and some: day, hour, minute and second are others. */
const EPOCH_SHIFT_MS = 3_208_631_123;
/** Clocks that count from some start go faster, so that durations are others too. */
const FASTER_PERCENT = 137;
const LATER_MS = 1000;
const NANO_PER_MS = 1_000_000;
/** A number of a small range may come again and again. */
const TRIES = 8;

/** Reads a plan's part. @throws TypeError where it is none */
export function parseUnpinned(value: unknown): UnpinnedPlan | undefined {
  if (value === undefined) return undefined;
  const { places, isUnified } = Object(value) as { places?: unknown; isUnified?: unknown };
  const isList = places === undefined || (Array.isArray(places) && places.every((place) => typeof place === 'string'));
  if (!isList || typeof isUnified !== 'boolean') throw new TypeError('no list of places');
  return { isUnified, ...(places === undefined ? {} : { places: places as string[] }) };
}

/** The values in place of recorded ones. */
export class UnpinnedDraws {
  readonly isUnified: boolean;
  readonly #places: ReadonlySet<string> | undefined;

  constructor({ places, isUnified }: UnpinnedPlan) {
    this.isUnified = isUnified;
    this.#places = places && new Set(places);
  }

  /** Whether a place in the code gets other values than the recorded ones. */
  has(source: string, at: string): boolean {
    return this.#places === undefined || this.#places.has(placeKey(source, at));
  }

  /** Another value than the recorded one, of the same kind. `real` draws from the platform. */
  another<T extends number | string | bigint | Uint8Array>(source: string, recorded: T, real: () => T): T {
    const value = real();
    if (typeof value === 'string') return value === recorded ? (`other-${value}` as T) : value;
    if (typeof value === 'bigint') return later(value, NANO_PER_MS) as T;
    if (typeof value !== 'number') return value;
    if (isCounted(source)) return differing(value, recorded, real) as T;
    return clockOf(value) as T;
  }
}

/** Numbers that are no readings of a clock. */
function isCounted(source: string): boolean {
  return /random|^process\.p?pid$|mem$/i.test(source);
}

function differing(value: unknown, recorded: unknown, real: () => unknown): unknown {
  let other = value;
  for (let i = 0; i < TRIES && other === recorded; i++) other = real();
  return other;
}

function clockOf(value: number): number {
  const other = value > EPOCH_MIN_MS ? value + EPOCH_SHIFT_MS : (value * FASTER_PERCENT) / 100 + LATER_MS;
  return Number.isInteger(value) ? Math.round(other) : other;
}

function later(value: bigint, perMs: number): bigint {
  // Temporal counts from the epoch, process.hrtime from some start.
  const isEpoch = value > BigInt(EPOCH_MIN_MS) * BigInt(perMs) * 10n;
  if (isEpoch) return value + BigInt(EPOCH_SHIFT_MS) * BigInt(perMs);
  return (value * BigInt(FASTER_PERCENT)) / 100n + BigInt(LATER_MS) * BigInt(perMs);
}
