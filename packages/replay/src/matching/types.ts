/** What the matcher of a run is told and what it says. Pure data: no recording, program or file is reached from here. */
import type { HeaderList } from '@orangebox/schema';

/** A request as the program made it. */
export interface AskedRequest {
  /** Causal place, outermost first; frames as text, for example `agent:planner`. Empty outside every scope. */
  scope: readonly string[];
  method: string;
  /** Absolute URL. */
  url: string;
  headers: HeaderList;
  /** The body's bytes as the program sent them (still content-encoded). */
  body: Uint8Array;
  /** A path in it was another, of which it is known what it stands for. */
  isMapped?: true;
}

/** A request on record, secrets replaced by tokens. */
export interface RecordedRequest extends AskedRequest {
  /** Place among the recorded requests of the run, in the order in which they were issued, from 0. */
  index: number;
  /** Number of the attempt within its call, from 0. */
  attempt: number;
  /** Span id of its call, by which it can be shown. */
  ref?: string;
  /**
   * How many deliveries the program had seen when it made the request. Requests of a scope with the same count knew the
   * same, so the order among them is no one's promise; without it the recorded order is the only one that is taken.
   */
  deliveriesBefore?: number;
}

/** How a request was matched; there is no "similar". */
export type MatchRung = 'exact' | 'canonical' | 'unified' | 'rule';

/** Why a request is no recorded one. */
export type MissReason =
  /** The next recorded request of the scope is another. */
  | 'changed'
  /** Nothing is left to be asked for in the scope, or it asks for what was given already. */
  | 'extra'
  /** It is a later recorded request of the scope: those before it were not asked for. */
  | 'reordered'
  /** It is a recorded request of another scope. */
  | 'moved_scope';

/** A value at a leaf of a request. `text` is what a reader is shown: a string's own text, JSON of anything else. */
export interface LeafValue {
  type: 'text' | 'number' | 'word' | 'list' | 'object' | 'bytes';
  text: string;
}

/** One place at which a request differs from a recorded one. A value that one side lacks is absent. */
export interface LeafDifference {
  /** `method`, `url.origin`, `url.path`, `query.<name>`, `header.<name>`, `body.<path>` (`body.messages[3].content`). */
  path: string;
  recorded?: LeafValue;
  live?: LeafValue;
  /** A header that matching passes over (the version of an SDK): it explains, and was not what the request failed at. */
  isNoise?: true;
}

/** A recorded request that was looked at, and what it differs in. Shown, never served. */
export interface NearCandidate {
  index: number;
  diff: LeafDifference[];
}

/** A request was a recorded one; it is consumed now. */
export interface Matched {
  kind: 'matched';
  index: number;
  rung: MatchRung;
  /** Rung `rule`: numbers of the rules that were needed, as given. */
  rules?: readonly number[];
}

/** A request was none. Nothing is consumed. */
export interface Missed {
  kind: 'missed';
  reason: MissReason;
  /** The recorded request that was to come next in the scope, where there was one. */
  expected?: number;
  /** Nearest first, at most three. */
  nearest: NearCandidate[];
}

/** The verdict on one request. */
export type MatchResult = Matched | Missed;

/** A difference that the user declared to say nothing. */
export interface MatchRule {
  /** Why; required, and shown in the receipt. */
  reason: string;
  /**
   * The place: a path as in {@link LeafDifference}, in which `*` stands for any one name or index and `**` for any
   * number of them, for example `body.messages[*].content` or `header.x-build`.
   */
  at: string;
  /** A regular expression: what it matches may differ, the text around it may not. Without it any value will do. */
  pattern?: string;
  /** Only requests of this method. */
  method?: string;
  /** Only requests to this host (and port, where it is not the usual one). */
  host?: string;
}

/** Options of `createMatcher`. */
export interface MatcherOptions {
  rules?: readonly MatchRule[];
}

/** An outside value that the program saw. */
export type OutsideValue = string | number | bigint | Uint8Array;

/** Where an outside value came from, as far as it is known. */
export interface ValueSource {
  /** For example `Date.now`, `Math.random`, `crypto.randomUUID`, `fs.mkdtemp`, `cwd`. */
  source?: string;
  /** Call site, `file:line:column`. */
  at?: string;
}

/** How often a rule was needed. */
export interface RuleUse {
  rule: MatchRule;
  uses: number;
}

/** What a matcher did so far. */
export interface MatchReport {
  rungs: Readonly<Record<MatchRung, number>>;
  /** Recorded requests that nothing asked for yet, in order of issue. */
  remaining: number[];
  /** Every rule, in the order given; one with no uses is to be warned about. */
  rules: RuleUse[];
  /** Recorded values that stood for another live value. */
  unifiedValues: number;
}

/** Matches the requests of one replayed run. */
export interface Matcher {
  /** The recorded request that this is, consumed; or why there is none. The same run of calls gives the same results. */
  match(request: AskedRequest): MatchResult;
  /**
   * The program drew `liveValue` where the recorded one had drawn `recordedValue`: from now on the one may stand for
   * the other. Call it for every draw, also of equal values, in order.
   */
  learn(recordedValue: OutsideValue, liveValue: OutsideValue, from?: ValueSource): void;
  /** Text that the program was given as recorded (an answer): values in it stand for themselves. */
  noteServed(text: string): void;
  report(): MatchReport;
}
