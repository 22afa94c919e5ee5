/** Numbers that a program drew, clocks and random ones, and what their like in another run tells about texts. */
import { isCharByFraction } from './drawn-characters.ts';
import { isFractionForm, isNumberForm } from './numeric-forms.ts';
import { isTimeForm } from './time-texts.ts';
import type { Token } from './text-tokens.ts';

/** A drawn number on both sides. */
interface Measure {
  recorded: number;
  live: number;
}

/** Draws that are looked through for one text, newest first. */
const DRAWS_KEPT = 4096;
/** Draws of a clock that a duration may lie between. */
const DURATION_DRAWS = 64;
/** Pairs of texts that are remembered. */
const EXPLAINED_MAX = 20_000;
/** Milliseconds in a millisecond and in a second. */
const UNITS: readonly number[] = [1, 1000];
/** Milliseconds since the epoch: anything below is a clock that starts with the process. */
const EPOCH_FROM_MS = 1e11;

/** What is known of drawn numbers. */
export class Measures {
  readonly #times: Measure[] = [];
  readonly #fractions: Measure[] = [];
  readonly #explained: Map<string, 'time' | 'value'> = new Map();
  /** Draws by clock, and by clock and file: a duration is mostly measured in one of them. */
  readonly #clocks: Map<string, Measure[]> = new Map();

  /** Adds a draw of a clock; milliseconds. */
  addTime(recorded: number, live: number, source: string, file: string | undefined): void {
    const measure = { recorded, live };
    keep(this.#times, measure, DRAWS_KEPT);
    keep(this.#listOf(source), measure, DURATION_DRAWS);
    if (file !== undefined) keep(this.#listOf(`${source} ${file}`), measure, DURATION_DRAWS);
  }

  /** Adds a draw of a number from 0 to 1. */
  addFraction(recorded: number, live: number): void {
    keep(this.#fractions, { recorded, live }, DRAWS_KEPT);
  }

  /**
   * Whether the draws say that a text of the recorded run is the other one in this run. What they said once holds: an
   * agent sends its history again long after the draws of it.
   */
  explains(recorded: Token, live: Token): 'time' | 'value' | undefined {
    const pair = `${recorded.text}\0${live.text}`;
    const known = this.#explained.get(pair);
    if (known !== undefined) return known;
    const reason = this.#reasonOf(recorded, live);
    if (reason !== undefined && this.#explained.size < EXPLAINED_MAX) this.#explained.set(pair, reason);
    return reason;
  }

  #reasonOf(recorded: Token, live: Token): 'time' | 'value' | undefined {
    if (recorded.kind === 'time') return this.#saysTime(recorded.text, live.text) ? 'time' : undefined;
    if (recorded.kind === 'number' && this.#saysClock(recorded.text, live.text)) return 'time';
    if (recorded.kind === 'number' && this.#saysDuration(recorded.text, live.text)) return 'time';
    if (this.#isFraction(recorded.text, live.text)) return 'value';
    return this.#isTimeInLetters(recorded.text, live.text) ? 'value' : undefined;
  }

  #listOf(name: string): Measure[] {
    let list = this.#clocks.get(name);
    if (list === undefined) this.#clocks.set(name, (list = []));
    return list;
  }

  #saysTime(recorded: string, live: string): boolean {
    return this.#times.some(
      (time) => time.recorded >= EPOCH_FROM_MS && isTimeForm(recorded, live, time.recorded, time.live),
    );
  }

  /** The reading of a clock itself, in milliseconds or seconds. */
  #saysClock(recorded: string, live: string): boolean {
    if (recorded.length < 4) return false;
    return this.#times.some((time) => UNITS.some((unit) => isInUnit(recorded, live, time.recorded, time.live, unit)));
  }

  /** The time between two readings of one clock, in milliseconds or seconds. */
  #saysDuration(recorded: string, live: string): boolean {
    for (const list of this.#clocks.values()) {
      for (let i = 1; i < list.length; i++) {
        const [begin, end] = [list[i - 1] as Measure, list[i] as Measure];
        if (UNITS.some((unit) => isDuration(recorded, live, begin, end, unit))) return true;
      }
    }
    return this.#isAgreedDuration(recorded, live);
  }

  /** Readings that are further apart are many: all that give the recorded text must give the live one. */
  #isAgreedDuration(recorded: string, live: string): boolean {
    let isFound = false;
    for (const list of this.#clocks.values()) {
      for (let to = 2; to < list.length; to++) {
        for (let from = 0; from < to - 1; from++) {
          const [begin, end] = [list[from] as Measure, list[to] as Measure];
          for (const unit of UNITS) {
            const difference = (end.recorded - begin.recorded) / unit;
            if (!isNumberForm(recorded, recorded, difference, difference)) continue;
            if (!isDuration(recorded, live, begin, end, unit)) return false;
            isFound = true;
          }
        }
      }
    }
    return isFound;
  }

  #isFraction(recorded: string, live: string): boolean {
    return (
      this.#fractions.some((draw) => isFractionForm(recorded, live, draw.recorded, draw.live)) ||
      isCharByFraction(recorded, live, this.#fractions)
    );
  }

  /** `Date.now().toString(36)`. */
  #isTimeInLetters(recorded: string, live: string): boolean {
    if (recorded.length < 8 || recorded.length !== live.length) return false;
    return this.#times.some(
      (time) =>
        Number.isInteger(time.recorded) &&
        [36, 16].some((radix) => recorded === time.recorded.toString(radix) && live === time.live.toString(radix)),
    );
  }
}

function keep(list: Measure[], measure: Measure, most: number): void {
  list.push(measure);
  // Cut by halves: taking the first off each time would move all the others each time.
  if (list.length >= 2 * most) list.splice(0, list.length - most);
}

function isDuration(recorded: string, live: string, begin: Measure, end: Measure, unit: number): boolean {
  return isInUnit(recorded, live, end.recorded - begin.recorded, end.live - begin.live, unit);
}

function isInUnit(recorded: string, live: string, recordedMs: number, liveMs: number, unit: number): boolean {
  return isNumberForm(recorded, live, recordedMs / unit, liveMs / unit);
}
