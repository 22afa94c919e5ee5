/** What a replay proves. Pure data. */
import type { ComparedValue, Divergence } from '../divergence/types.ts';
import type { MatchRung, RuleUse } from '../matching/types.ts';

/** What was observed when a replay ended. */
export interface ReceiptFacts {
  run: {
    id: string;
    /** SHA-256 of the recording's files. */
    digest: string;
    /** The recording is not whole: it ended before the run did, or holds damage. */
    isDamaged?: boolean;
    /** The signal that ended it. */
    signal?: string;
  };
  /** The command that ran. */
  command: readonly string[];
  /**
   * The program that ran: path of its entry file (relative to the working directory), the file's SHA-256, and files that
   * changed since the run was recorded. Edited code is what one may want to replay; another program is not.
   */
  code: { entry: ComparedValue; digest: ComparedValue; changedFiles?: readonly string[] };
  /** Versions that were compared, Node.js' as `node`. */
  versions: readonly ComparedValue[];
  /** Recorded requests of the run. */
  recordedRequests: number;
  /** Requests that were served, by how they were matched. */
  rungs: Readonly<Record<MatchRung, number>>;
  rules: readonly RuleUse[];
  extra: number;
  missing: number;
  /** Attempts to reach the network or other processes that were refused, with where they went. */
  refused: readonly { what: string; count: number }[];
  /** Connections that were really made; a replay in which there is one proves nothing. */
  liveConnections: number;
  /** Child processes: answered from the recording, and really started. */
  processes: { served: number; started: number };
  /** Tools whose outcome was given from the recording, and names of those that ran and had another one. */
  tools?: { served: number; changed: readonly string[] };
  /** What the recording says could not be recorded. */
  notReplayable: readonly { what: string; count: number }[];
  /** The directory that the program ran in: a copy of its own, or the one that it is in; and what is to be said of its files. */
  files?: { isCopy: boolean; notes: readonly string[] };
  /** Exit code, standard output and so on, recorded and live; digests for streams and files. */
  outcome: readonly ComparedValue[];
  /** Where an output that differs first does so, by line from 1; as far as its beginning is kept. */
  outputDifferences?: readonly OutputDifference[];
  divergence?: Divergence;
  /** Child processes that were recorded as runs of their own, and are served here and not replayed. */
  childRuns?: readonly { id: string; command: string }[];
  /** The preload said that it was there. */
  isInstrumented: boolean;
}

/** The first line of an output that is another than on record; a side that ended before has none. */
export interface OutputDifference {
  name: string;
  line: number;
  recorded?: string;
  live?: string;
}

/** The verdict on a replay. One that is no `replayed` fails. */
export type ReceiptVerdict =
  | 'replayed'
  /** The program went another way. */
  | 'diverged'
  /** It asked for what was recorded, and gave another output, exit code or file. */
  | 'output_differs'
  /** Recorded requests were never asked for. */
  | 'incomplete'
  /** Nothing was served although something was recorded, the recording holds nothing, or the preload was never there. */
  | 'nothing_served'
  /** Another program ran than the recorded one: another file with other content. */
  | 'wrong_program'
  /** Another Node.js ran than the recorded one. */
  | 'wrong_runtime'
  /** Something really went out, or a process was really started. */
  | 'not_sealed'
  /** The recording is not whole. */
  | 'damaged';

/** A receipt. */
export interface Receipt extends ReceiptFacts {
  verdict: ReceiptVerdict;
  /** Exit code of the command for this verdict. */
  exitCode: number;
  served: number;
  /** One sentence each: what is wrong, weightiest first, then what is worth knowing. */
  findings: string[];
  warnings: string[];
}
