/** What is said about the first point at which a replayed run went another way. Pure data. */
import type { AskedRequest, LeafDifference, MatchRung, Missed, RecordedRequest } from '../matching/types.ts';

/** What kind of thing happened. */
export type DivergenceKind =
  | 'changed_request'
  | 'extra'
  | 'missing'
  | 'reordered'
  | 'moved_scope'
  /** The program gave up on a call that it had read, or the reverse, or at another place. */
  | 'changed_cancel'
  /** Timers fired in another order or at other times. */
  | 'tick_drift'
  /** The draws, the environment or a child process are not those on record. */
  | 'environment';

/** An outside value that the program saw. */
export interface Draw {
  seq: number;
  source: string;
  /** As text. */
  value: string;
  /** Call site, `file:line:column`. */
  at?: string;
}

/** An event that went as recorded. */
export interface MatchedEvent {
  /** Place in the total order of the process. */
  event: number;
  scope: readonly string[];
  /** What happened, in a line: `POST api.openai.com/v1/chat/completions`. */
  what: string;
  rung?: MatchRung;
}

/** A named value on both sides; a side that lacks it is absent. `isHashed`: the values are keyed hashes of it. */
export interface ComparedValue {
  name: string;
  recorded?: string;
  live?: string;
  isHashed?: true;
}

/** What is known when a replay stops; everything beyond the first members is optional and only explains. */
export interface DivergenceContext {
  kind: DivergenceKind;
  /** Place in the total order of the process. */
  event: number;
  /** Requests that had been matched, plus one. */
  step: number;
  scope: readonly string[];
  /** The request that was no recorded one, and the matcher's verdict on it. */
  asked?: AskedRequest;
  miss?: Missed;
  /** The recorded requests, by index. */
  recorded?: readonly RecordedRequest[];
  /** Differences that are no request's: of a cancel, a timer, a child process. */
  differences?: readonly LeafDifference[];
  /** One sentence on what happened, where no request tells it. */
  detail?: string;
  matched?: readonly MatchedEvent[];
  /** Recorded answers that were served, by index of their request, as text. */
  answers?: readonly { index: number; text: string }[];
  /** Names of tools that ran again and had another outcome. */
  changedTools?: readonly string[];
  /** Draws up to this point. */
  recordedDraws?: readonly Draw[];
  liveDraws?: readonly Draw[];
  environment?: readonly ComparedValue[];
  /** Files of the working directory and of the program, by digest; only those that differ need be given. */
  files?: readonly ComparedValue[];
  /** The files are all of the program's directory: what is not among them is as it was. */
  areAllFilesKnown?: true;
  /** Versions of packages and of Node.js. */
  versions?: readonly ComparedValue[];
  /** What went wrong after it: folded into one line. */
  consequences?: readonly string[];
  /** The reference of the run, for the next commands. */
  run?: string;
}

/** What a change comes from. */
export type CauseClass =
  | 'code'
  | 'package'
  | 'answer'
  | 'tool_result'
  | 'clock'
  | 'random'
  | 'environment'
  | 'file'
  | 'order'
  | 'extra'
  | 'missing'
  | 'unknown';

/** Where a differing value was found. */
export interface Origin {
  /** Path of the difference that it explains. */
  path: string;
  side: 'recorded' | 'live';
  /** The value, cut where it is long. */
  value: string;
  class: CauseClass;
  /** In words: `answer 3`, `Date.now at agent.mjs:12:9`, `environment variable TZ`. */
  where: string;
  /** A draw that gave the same in both runs: where it was put is what changed. */
  isSame?: true;
}

/** A piece of a text: in both, or only on one side. */
export interface TokenChange {
  op: 'same' | 'recorded' | 'live';
  text: string;
}

/** A leaf difference with what changed inside it. */
export interface ExplainedDifference extends LeafDifference {
  /** Of two strings: the pieces, long equal ones cut to their ends. */
  tokens?: TokenChange[];
}

/** A divergence, explained. */
export interface Divergence {
  kind: DivergenceKind;
  event: number;
  step: number;
  scope: readonly string[];
  /** One sentence. */
  summary: string;
  cause: CauseClass;
  differences: ExplainedDifference[];
  /** Differences beyond those listed. */
  furtherDifferences: number;
  origins: Origin[];
  /** The first draw that was another: its place, or a changed number of draws. */
  suspicious?: { seq: number; message: string };
  /** The last ten events that went as recorded, oldest first. */
  /** Variables that were set on record and are not now, or the reverse, or have another value; in words. */
  environment: string[];
  lastMatched: MatchedEvent[];
  nearest: { index: number; what: string; differences: number }[];
  /** What followed from it, folded. */
  folded: number;
  nextCommands: string[];
}
