/** Opens the recording that a plan names, in the process that replays it. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createRedactor, type NamedSecret, type Redactor } from '@orangebox/codec';
import { OrangeboxError, type OutputDigest } from '@orangebox/schema';
import { explainDivergence } from '../divergence/explain.ts';
import { parseMatchRules } from '../matching/rules.ts';
import type { MatchRule } from '../matching/types.ts';
import type { ComparedValue } from '../divergence/types.ts';
import { AppliedFiles } from './files/applied-files.ts';
import { withLivePaths } from './files/mapped-run.ts';
import { isSoundDirectory, PathPair } from './files/path-pair.ts';
import { ProcessReplay } from './process-replay.ts';
import { NO_REPORT, type ProcessReport } from './process-report.ts';
import { readRun } from './recorded-run.ts';
import { sealProcess } from './sealed/seal.ts';
import { parseUnpinned, type UnpinnedPlan } from './unpinned-draws.ts';

/** What the command hands to the process that it starts. */
export interface ReplayPlan {
  runId: string;
  /** Segment files of each recorded thread, in order. */
  threads: { threadId: number; files: string[] }[];
  /** Differences that the user declared to say nothing. */
  rules?: readonly MatchRule[];
  /** How many times faster than recorded answers come; without it at once. */
  speed?: number;
  /** Copy of the working directory that the program runs in; without it, it runs where it is. */
  copy?: string;
  /** Directories whose paths lead to the copy. */
  copyOf?: readonly string[];
  /** What child processes did to files is done again in the copy. */
  appliesFiles?: boolean;
  /** Files that were others when the run was recorded, by their SHA-256. */
  changedFiles?: readonly ComparedValue[];
  /** Outside values that are not those on record. */
  unpinned?: UnpinnedPlan;
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
    const isPaced = plan.speed === undefined || (Number.isFinite(plan.speed) && plan.speed > 0);
    if (isWhole && isPaced && (plan.unpinned === undefined || parseUnpinned(plan.unpinned))) return plan;
  } catch {
    // Said below.
  }
  throw new OrangeboxError('OBX_RUN_PLAN', 'the plan of the replay cannot be read');
}

/**
 * The replay of this thread. `secrets` of the environment are in no report. A recording that cannot be read ends the
 * process: a program that was to stay offline must not run; so does `refuse`.
 */
export function openProcessReplay(
  planFile: string,
  live: NonNullable<ProcessReport['live']>,
  secrets: readonly NamedSecret[],
  readContent: (sha256: string) => Uint8Array | undefined,
): { replay: ProcessReplay; paths: PathPair | undefined; refuse: (message: string) => never } {
  // Taken now: the program may put its own in their place.
  const { reallyExit } = process as unknown as { reallyExit: (code: number) => never };
  const plan = parsePlan(readFileSync(planFile, 'utf8'));
  const redactor = createRedactor({ secrets });
  const write = (report: ProcessReport): void => append(plan, withoutSecrets(report, redactor));
  const fail = (code: string, message: string): never => {
    write({ ...NO_REPORT, threadId: live.threadId, failure: { code, message } });
    return reallyExit.call(process, STOPPED);
  };
  try {
    const files = plan.threads.find(({ threadId }) => threadId === live.threadId)?.files;
    if (!files) throw new OrangeboxError('OBX_RUN_THREAD', `nothing is on record of thread ${live.threadId}`);
    const run = readRun(files);
    const { cwd } = run.start;
    const root = process.cwd();
    const isOther = cwd !== undefined && cwd !== root && isSoundDirectory(cwd);
    const paths = isOther ? new PathPair(cwd, root, plan.copy === root) : undefined;
    // What a child process wrote may speak of the directory that it was in.
    const read = (sha256: string): Uint8Array | undefined => {
      const bytes = readContent(sha256);
      return bytes && paths ? paths.bytesToLive(bytes) : bytes;
    };
    const place = { root, recordedRoot: paths?.recorded ?? root, read };
    const replay = new ProcessReplay({
      run: paths ? withLivePaths(run, paths) : run,
      rules: parseMatchRules(plan.rules ?? []),
      live: paths
        ? { ...live, argv: live.argv.map((arg, i) => (i === 0 ? paths.relativeToRecorded(arg) : arg)) }
        : live,
      ...(paths === undefined ? {} : { paths }),
      // Where the program runs in its own directory, nothing is changed there for it. Only a main thread has files on record.
      ...(plan.copy === root && plan.appliesFiles === true && live.threadId === 0
        ? { files: new AppliedFiles(place, run.fileChanges) }
        : {}),
      ...(plan.changedFiles === undefined ? {} : { changedFiles: plan.changedFiles }),
      ...(plan.speed === undefined ? {} : { speed: plan.speed }),
      ...(plan.unpinned === undefined ? {} : { unpinned: plan.unpinned }),
      // What is said of a request goes to a file, and to the terminal.
      explain: (context) => explainDivergence(context, redactor),
      stop(report, isEnding) {
        write(report);
        // A program that went another way is not asked about its end; one that came to it may say why.
        if (!isEnding) reallyExit.call(process, STOPPED);
      },
    });
    return { replay, paths, refuse: (message) => fail('OBX_RUN_UNREADABLE', message) };
  } catch (error) {
    const { code = 'OBX_RUN_UNREADABLE', message } = error as { code?: string; message: string };
    return fail(code, message);
  }
}

/**
 * Closes the ways out of a worker thread of which nothing is on record, because nothing recorded it: one with an environment
 * or options of its own. False where the thread is on record.
 */
export function sealUnrecordedThread(planFile: string, live: { threadId: number; pid: number }): boolean {
  const plan = parsePlan(readFileSync(planFile, 'utf8'));
  if (plan.threads.some(({ threadId }) => threadId === live.threadId)) return false;
  let left = REFUSALS_MAX;
  sealProcess({
    isExpected: () => false,
    opened: (socket) => void socket.destroy(),
    processNumber: (pid) => (pid === live.pid ? 'own' : undefined),
    // Told at once: such a thread may be ended from outside.
    refused: (what) => {
      if (left-- > 0) append(plan, { ...NO_REPORT, threadId: live.threadId, refused: [{ what, count: 1 }] });
    },
  });
  return true;
}

/** What is said of the output goes to a file, and to the terminal. */
function withoutSecrets(report: ProcessReport, redactor: Redactor): ProcessReport {
  const { end } = report;
  if (!end) return report;
  const clean = (output: OutputDigest): OutputDigest => {
    if (output.head === undefined) return output;
    const body = redactor.body('run');
    const pieces = [...body.push(Buffer.from(output.head, 'base64')), ...body.end()];
    return { ...output, head: Buffer.concat(pieces).toString('base64') };
  };
  return { ...report, end: { ...end, stdout: clean(end.stdout), stderr: clean(end.stderr) } };
}

function append(plan: ReplayPlan, report: ProcessReport): void {
  const file = openSync(plan.report, 'a', 0o600);
  writeSync(file, `${JSON.stringify(report)}\n`);
  closeSync(file);
}

/** Attempts of one thread that are told. */
const REFUSALS_MAX = 1000;
/** Exit code of a process that the replay stopped; the command that started it has its own. */
const STOPPED = 86;
