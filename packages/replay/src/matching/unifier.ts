/**
 * Which live values stand for which recorded ones. A value may differ only where draws say that it is the one that came
 * in the place of the recorded one, and pairs are one to one over the whole run: never two recorded values for one live
 * value, nor the reverse.
 */
import { Identities } from './identities.ts';
import { Measures } from './measures.ts';
import type { SecretFit } from './secret-fit.ts';
import type { Token } from './text-tokens.ts';
import type { OutsideValue, ValueSource } from './types.ts';

const NANO_PER_MS = 1_000_000;
/** Served text in which a value is looked for; older text is forgotten beyond it. */
const SERVED_MAX_CHARS: number = 64 * 1024 * 1024;

/** What one request would bind; it is kept only when the whole request is a recorded one. */
export interface Trial {
  readonly values: Map<string, string>;
  readonly reversed: Map<string, string>;
  readonly secrets: Map<string, string>;
}

/** The pairs of one run. */
export class Unifier {
  readonly #identities: Identities = new Identities();
  readonly #measures: Measures = new Measures();
  /** Pairs that were bound by matched requests. */
  readonly #bound: Trial = emptyTrial();
  #served: string[] = [];
  #servedChars = 0;
  /** A number or bytes were drawn that are others than the recorded ones. */
  #differs = false;

  /** Live values that stand for another recorded one so far. */
  get size(): number {
    return this.#bound.values.size;
  }

  /** Nothing was learned that could differ. */
  get isEmpty(): boolean {
    return this.#identities.size === 0 && !this.#differs;
  }

  learn(recorded: OutsideValue, live: OutsideValue, from: ValueSource): void {
    if (typeof recorded === 'string' && typeof live === 'string') {
      this.#identities.add(recorded, live);
    } else if (recorded instanceof Uint8Array && live instanceof Uint8Array) {
      if (!isSame(recorded, live)) this.#differs = true;
      this.#identities.addBytes(recorded, live);
    } else if (typeof recorded === 'bigint' && typeof live === 'bigint') {
      this.#learnNumber(Number(recorded) / NANO_PER_MS, Number(live) / NANO_PER_MS, from);
    } else if (typeof recorded === 'number' && typeof live === 'number') {
      this.#learnNumber(recorded, live, from);
    }
  }

  noteServed(text: string): void {
    this.#served.push(text);
    this.#servedChars += text.length;
    while (this.#servedChars > SERVED_MAX_CHARS && this.#served.length > 1) {
      this.#servedChars -= (this.#served.shift() as string).length;
    }
  }

  /** Lengths of recorded values that are looked for in texts. */
  get lengths(): readonly number[] {
    return this.#identities.lengths;
  }

  /** The live value that a recorded one must be, when draws or an earlier request say so. */
  liveOf(recorded: string, trial: Trial): string | undefined {
    return trial.values.get(recorded) ?? this.#bound.values.get(recorded) ?? this.#identities.liveOf(recorded);
  }

  /** Binds two tokens when something says that the one came in the place of the other. */
  bindTokens(recorded: Token, live: Token, trial: Trial): boolean {
    const known = this.liveOf(recorded.text, trial);
    if (known !== undefined) return known === live.text && this.bind(recorded.text, live.text, trial);
    const reason = this.#measures.explains(recorded, live);
    // Times are no identities: two of them may fall together at the precision in which they are written.
    if (reason === 'time') return true;
    return (
      (reason === 'value' || this.#identities.isSlice(recorded.text, live.text)) &&
      this.bind(recorded.text, live.text, trial)
    );
  }

  /** Binds two runs of characters that the same drawn bytes wrote. */
  bindWritten(recorded: string, live: string, trial: Trial): boolean {
    return this.#identities.isWritten(recorded, live) && this.bind(recorded, live, trial);
  }

  /** Binds a pair; false where one of the two stands for something else already. */
  bind(recorded: string, live: string, trial: Trial): boolean {
    const forward = this.liveOf(recorded, trial) ?? live;
    const backward = this.#recordedOf(live, trial) ?? recorded;
    if (forward !== live || backward !== recorded) return false;
    trial.values.set(recorded, live);
    trial.reversed.set(live, recorded);
    return true;
  }

  /**
   * Whether a text may be the same on both sides: not where it is known to be another here, nor where it is what some
   * other recorded value is here. What the program was told in an answer it may always say again.
   */
  mayStay(text: string, trial: Trial): boolean {
    const live = this.liveOf(text, trial);
    const recorded = this.#recordedOf(text, trial);
    if ((live ?? text) === text && (recorded ?? text) === text) return true;
    return this.#served.some((served) => served.includes(text));
  }

  /** Binds what secrets' tokens stand for: one token is one value over the whole run. */
  bindSecrets(fits: readonly SecretFit[], trial: Trial): boolean {
    for (const { token, live } of fits) {
      // A token that stands in an answer is what the program was told, and says again.
      if (live === token) continue;
      const known = trial.secrets.get(token) ?? this.#bound.secrets.get(token) ?? live;
      if (known !== live) return false;
      trial.secrets.set(token, live);
    }
    return true;
  }

  /** Keeps what a matched request bound. */
  commit(trial: Trial): void {
    for (const [recorded, live] of trial.values) this.#bound.values.set(recorded, live);
    for (const [live, recorded] of trial.reversed) this.#bound.reversed.set(live, recorded);
    for (const [token, live] of trial.secrets) this.#bound.secrets.set(token, live);
  }

  #recordedOf(live: string, trial: Trial): string | undefined {
    return trial.reversed.get(live) ?? this.#bound.reversed.get(live) ?? this.#identities.recordedOf(live);
  }

  #learnNumber(recorded: number, live: number, { source = '', at }: ValueSource): void {
    if (recorded !== live) this.#differs = true;
    if (isFraction(recorded) && isFraction(live) && !/now|time|date/i.test(source)) {
      this.#measures.addFraction(recorded, live);
    } else if (/^(?:pid|ppid|process\.p?pid)$|random/i.test(source)) {
      this.#identities.add(String(recorded), String(live));
    } else {
      this.#measures.addTime(recorded, live, source, at?.replace(/:\d+(?::\d+)?$/, ''));
    }
  }
}

/** A trial that binds nothing yet. */
export function emptyTrial(): Trial {
  return { values: new Map(), reversed: new Map(), secrets: new Map() };
}

function isFraction(value: number): boolean {
  return value >= 0 && value < 1;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
