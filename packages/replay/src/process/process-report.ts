/** What a replayed process says when it ends; the command that started it makes the receipt of it. */
import type { OutputDigest, RunStartRecord } from '@orangebox/schema';
import type { Divergence } from '../divergence/types.ts';
import type { MatchRung, RuleUse } from '../matching/types.ts';

/** One thread's report. */
export interface ProcessReport {
  threadId: number;
  /** What kept the replay from beginning. */
  failure?: { code: string; message: string };
  divergence?: Divergence;
  /** Facts of the live process, as a recording has them. */
  live?: Omit<RunStartRecord, 'type' | 'runId' | 'parentRunId' | 'startUnixNano'>;
  rungs: Readonly<Record<MatchRung, number>>;
  rules: readonly RuleUse[];
  extra: number;
  missing: number;
  refused: { what: string; count: number }[];
  /** Connections of the platform that were there when the report was made. */
  liveConnections: number;
  /** Child processes of the platform that were there then. */
  liveProcesses: number;
  processesServed: number;
  /** Tools whose outcome was given. */
  toolsServed: number;
  /** Names of tools that ran and had another outcome than on record. */
  toolsChanged: string[];
  /** Recorded requests that found no connection, and found none again. */
  refusedAsRecorded: number;
  /** `fewerBefore`: place before which the recorded program had drawn more. */
  draws: { count: number; extra: number; fewerBefore?: number };
  eventsGiven: number;
  /** The program ended since a module was not there. */
  lacksModule?: true;
  /** Files that recorded child processes changed, and that could not be changed so. */
  filesNotApplied: string[];
  /** Absent where the replay was stopped. */
  end?: { exitCode: number; stdout: OutputDigest; stderr: OutputDigest };
}

/** Of a thread in which nothing happened. */
export const NO_REPORT: Readonly<ProcessReport> = {
  threadId: 0,
  rungs: { exact: 0, canonical: 0, unified: 0, rule: 0 },
  rules: [],
  extra: 0,
  missing: 0,
  refused: [],
  liveConnections: 0,
  liveProcesses: 0,
  processesServed: 0,
  toolsServed: 0,
  toolsChanged: [],
  refusedAsRecorded: 0,
  draws: { count: 0, extra: 0 },
  eventsGiven: 0,
  filesNotApplied: [],
};
