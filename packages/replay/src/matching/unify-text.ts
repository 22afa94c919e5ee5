/** Whether one text is another but for values that stand for each other. */
import { type Token, tokenAt } from './text-tokens.ts';
import type { Trial, Unifier } from './unifier.ts';

/** How far before a difference a value that differs may begin. */
const LOOK_BACK_CHARS = 128;
/** Ids of an alphabet of 64 characters, which may hold what else would end them. */
const WRITTEN = /[0-9A-Za-z_-]/;
const ALPHANUMERIC = /[0-9A-Za-z]/;

/** Whether `live` is `recorded` but for values that stand for each other; what it binds goes into the trial. */
export function unifyText(recorded: string, live: string, unifier: Unifier, trial: Trial): boolean {
  return new Alignment(recorded, live, unifier, trial).run();
}

/** Whether equal texts hold nothing that had to be another. */
export function mayStayEqual(text: string, unifier: Unifier, trial: Trial): boolean {
  return new Alignment(text, text, unifier, trial).run();
}

class Alignment {
  readonly #recorded: string;
  readonly #live: string;
  readonly #unifier: Unifier;
  readonly #trial: Trial;
  readonly #lengths: readonly number[];
  /** Where the next token begins on both sides. */
  #at = 0;
  #liveAt = 0;
  /** Where the last pair of values ended: nothing before it is looked at again. */
  #settled = 0;

  constructor(recorded: string, live: string, unifier: Unifier, trial: Trial) {
    this.#recorded = recorded;
    this.#live = live;
    this.#unifier = unifier;
    this.#trial = trial;
    this.#lengths = unifier.lengths;
  }

  run(): boolean {
    while (this.#at < this.#recorded.length && this.#liveAt < this.#live.length) {
      const token = tokenAt(this.#recorded, this.#at);
      const other = tokenAt(this.#live, this.#liveAt);
      const isStep = token.text === other.text ? this.#stay(token) : this.#differ(token, other);
      if (!isStep) return false;
    }
    return this.#at >= this.#recorded.length && this.#liveAt >= this.#live.length;
  }

  #stay(token: Token): boolean {
    if (token.kind !== 'other' && !this.#unifier.mayStay(token.text, this.#trial)) return false;
    // A value of several tokens, such as a path.
    for (const length of this.#lengths) {
      const value = this.#recorded.slice(this.#at, this.#at + length);
      if (value.length < length || !this.#live.startsWith(value, this.#liveAt)) continue;
      if (!isBounded(this.#recorded, this.#at, this.#at + length)) continue;
      if (!this.#unifier.mayStay(value, this.#trial)) return false;
    }
    this.#at += token.text.length;
    this.#liveAt += token.text.length;
    return true;
  }

  #differ(token: Token, other: Token): boolean {
    if (this.#whole(token.text)) return true;
    if (isLike(token, other) && this.#unifier.bindTokens(token, other, this.#trial)) {
      this.#move(this.#at + token.text.length, this.#liveAt + other.text.length);
      return true;
    }
    return this.#written();
  }

  /** A learned value that begins in what is equal before the difference, or at it. */
  #whole(token: string): boolean {
    const back = Math.min(LOOK_BACK_CHARS, this.#at - this.#settled);
    let shared = 0;
    while (shared < token.length && token[shared] === this.#live[this.#liveAt + shared]) shared += 1;
    for (let offset = -back; offset <= shared; offset++) {
      const from = this.#at + offset;
      const liveFrom = this.#liveAt + offset;
      for (const length of this.#lengths) {
        const value = this.#recorded.slice(from, from + length);
        if (value.length < length || from + length <= this.#at) continue;
        const live = this.#unifier.liveOf(value, this.#trial);
        if (live === undefined || !this.#live.startsWith(live, liveFrom)) continue;
        if (!isBounded(this.#recorded, from, from + length)) continue;
        if (!isBounded(this.#live, liveFrom, liveFrom + live.length)) continue;
        if (!this.#unifier.bind(value, live, this.#trial)) return false;
        this.#move(from + length, liveFrom + live.length);
        return true;
      }
    }
    return false;
  }

  /** An id whose every character was drawn; it may begin before the difference. */
  #written(): boolean {
    let back = 0;
    while (this.#at - back > this.#settled && WRITTEN.test(this.#recorded[this.#at - back - 1] ?? '')) back += 1;
    const recorded = writtenFrom(this.#recorded, this.#at - back);
    const live = writtenFrom(this.#live, this.#liveAt - back);
    if (!this.#unifier.bindWritten(recorded, live, this.#trial)) return false;
    this.#move(this.#at - back + recorded.length, this.#liveAt - back + live.length);
    return true;
  }

  #move(at: number, liveAt: number): void {
    this.#at = at;
    this.#liveAt = liveAt;
    this.#settled = at;
  }
}

/** Pieces that one value can be: an id may by chance have no letters. */
function isLike(a: Token, b: Token): boolean {
  const isPlain = ({ kind }: Token): boolean => kind === 'word' || kind === 'number';
  return a.kind === b.kind || (isPlain(a) && isPlain(b));
}

function writtenFrom(text: string, from: number): string {
  let end = from;
  while (end < text.length && end - from < LOOK_BACK_CHARS && WRITTEN.test(text[end] ?? '')) end += 1;
  return text.slice(from, end);
}

/** Whether a piece of a text is no part of a longer word. */
function isBounded(text: string, from: number, to: number): boolean {
  const isBegun = from > 0 && ALPHANUMERIC.test(text[from - 1] ?? '') && ALPHANUMERIC.test(text[from] ?? '');
  const isGoing = to < text.length && ALPHANUMERIC.test(text[to - 1] ?? '') && ALPHANUMERIC.test(text[to] ?? '');
  return !isBegun && !isGoing;
}
