/** Opens the recording that a plan names, in the process that replays it. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createRedactor, type NamedSecret } from '@orangebox/codec';
import { OrangeboxError } from '@orangebox/schema';
import { explainDivergence } from '../divergence/explain.ts';
import { parseMatchRules } from '../matching/rules.ts';
import type { MatchRule } from '../matching/types.ts';
import { ProcessReplay } from './process-replay.ts';
import type { ProcessReport } from './process-report.ts';
import { readRun } from './recorded-run.ts';

/** What the command hands to the process that it starts. */
export interface ReplayPlan {
  runId: string;
  /** Segment files of each recorded thread, in order. */
  threads: { threadId: number; files: string[] }[];
  /** Differences that the user declared to say nothing. */
  rules?: readonly MatchRule[];
  /** Where each thread appends its report, one JSON object a line. */
  report: string;
}

/** Reads a plan. @throws `OBX_RUN_PLAN` */
export function parsePlan(text: string): ReplayPlan {
  try {
    const plan = JSON.parse(text) as ReplayPlan;
    const isWhole =
      typeof plan.runId === 'string' &&
      typeof plan.report === 'string' &&
      plan.threads.every(
        ({ threadId, files }) => Number.isInteger(threadId) && files.every((f) => typeof f === 'string'),
      );
    if (isWhole) return plan;
  } catch {
    // Said below.
  }
  throw new OrangeboxError('OBX_RUN_PLAN', 'the plan of the replay cannot be read');
}

/**
 * The replay of this thread. `secrets` of the environment are in no report. A recording that cannot be read ends the
 * process: a program that was to stay offline must not run.
 */
export function openProcessReplay(
  planFile: string,
  live: NonNullable<ProcessReport['live']>,
  secrets: readonly NamedSecret[],
): { replay: ProcessReplay; plan: ReplayPlan } {
  // Taken now: the program may put its own in their place.
  const { reallyExit } = process as unknown as { reallyExit: (code: number) => never };
  const plan = parsePlan(readFileSync(planFile, 'utf8'));
  const write = (report: ProcessReport): void => {
    const file = openSync(plan.report, 'a', 0o600);
    writeSync(file, `${JSON.stringify(report)}\n`);
    closeSync(file);
  };
  try {
    const files = plan.threads.find(({ threadId }) => threadId === live.threadId)?.files;
    if (!files) throw new OrangeboxError('OBX_RUN_THREAD', `nothing is on record of thread ${live.threadId}`);
    const replay = new ProcessReplay({
      run: readRun(files),
      rules: parseMatchRules(plan.rules ?? []),
      live,
      // What is said of a request goes to a file, and to the terminal.
      explain: (context) => explainDivergence(context, createRedactor({ secrets })),
      stop(report) {
        write(report);
        // A program that went another way is not asked about its end.
        if (!report.end) reallyExit.call(process, STOPPED);
      },
    });
    return { replay, plan };
  } catch (error) {
    const { code = 'OBX_RUN_UNREADABLE', message } = error as { code?: string; message: string };
    write({ ...NO_REPORT, threadId: live.threadId, failure: { code, message } });
    return reallyExit.call(process, STOPPED);
  }
}

/** Exit code of a process that the replay stopped; the command that started it has its own. */
const STOPPED = 86;

const NO_REPORT: ProcessReport = {
  threadId: 0,
  rungs: { exact: 0, canonical: 0, unified: 0, rule: 0 },
  rules: [],
  extra: 0,
  missing: 0,
  refused: [],
  liveConnections: 0,
  processesServed: 0,
  refusedAsRecorded: 0,
  draws: { count: 0, extra: 0 },
  eventsGiven: 0,
};
