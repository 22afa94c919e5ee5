/** `orangebox check DIR`: replays many recorded runs, one verdict each. */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { type CheckedRun, checkExitCode, checkSummary, junitXml, type MatchRule, receiptJson } from '@orangebox/replay';
import { type FoundRun, findRuns } from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { codedError, errnoOf, EXIT, exitCodeOf } from '../exit-codes.ts';
import { isDirectory } from '../locate.ts';
import { parseCount, parseDuration } from '../parse-options.ts';
import { findRecordings } from '../replay-run/find-recordings.ts';
import { type PlaceOptions, placeOptions } from '../replay-run/replay-place.ts';
import { recordedCommand } from '../replay-run/recorded-command.ts';
import { replayFound } from '../replay-run/replay-found.ts';
import { readRules } from '../replay-run/rules-file.ts';
import { escapeLine, safeJson } from '../text/escape.ts';

/** Options of `check`. */
export interface CheckOptions {
  jobs?: string;
  junit?: string;
  rules?: string;
  timeout: string;
  yes?: boolean;
  inPlace?: boolean;
  trustFiles?: boolean;
  json?: boolean;
}

const JOBS_MAX = 64;
const JOBS_DEFAULT_MAX = 4;

/** A run that is to be replayed, or a directory in which none could be found. */
interface Job {
  directory: string;
  found?: FoundRun;
  command: readonly string[];
}

/** Replays all runs below a directory and ends with the exit code of the weightiest verdict. */
export async function check(
  context: CommandContext,
  place: string,
  words: readonly string[],
  options: CheckOptions,
): Promise<number> {
  const { terminal, cwd } = context;
  const jobs =
    options.jobs === undefined
      ? Math.min(JOBS_DEFAULT_MAX, availableParallelism())
      : parseCount(options.jobs, '--jobs', 1, JOBS_MAX);
  const timeoutMs = parseDuration(options.timeout, '--timeout');
  const rules = readRules(context, options.rules);
  const found = findJobs(resolve(cwd, place), words, cwd);
  if (words.length === 0 && options.yes !== true && !(await agree(context, found))) return EXIT.refused;
  const checked = await atOnce(found, jobs, (job) =>
    checkOne(context, job, { rules, timeoutMs, ...placeOptions(options) }),
  );
  if (options.junit !== undefined) writeFileSync(resolve(cwd, options.junit), junitXml(checked));
  terminal.line((options.json === true ? checked.map(jsonLine).join('\n') : checkSummary(checked)).trimEnd());
  return checkExitCode(checked);
}

/** The runs of programs that nobody else's run started: those of child processes are served within their parent's. */
function findJobs(place: string, words: readonly string[], cwd: string): Job[] {
  if (!isDirectory(place)) {
    throw new OrangeboxError('OBX_DIR_NOT_FOUND', `there is no directory ${escapeLine(place)}`, {
      hint: 'name a directory of recordings, usually .orangebox',
    });
  }
  const jobs = findRecordings(place).flatMap((directory): Job[] => {
    const runs = findRuns(directory).filter(({ start }) => start.parentRunId === undefined);
    // A directory of segments in which no run can be read proves nothing either.
    if (runs.length === 0) return [{ directory, command: words }];
    return runs.map((found) => ({
      directory,
      found,
      command: words.length > 0 ? words : recordedCommand(found, directory, cwd, 'check DIRECTORY'),
    }));
  });
  if (jobs.length > 0) return jobs;
  throw new OrangeboxError('OBX_RUN_NOT_FOUND', `nothing is recorded below ${escapeLine(place)}`, {
    hint: 'record a run with: npx orangebox run --replayable -- node app.js',
  });
}

/** Results in the order of the items; as soon as one is done, the next begins. */
async function atOnce<In, Out>(items: readonly In[], width: number, work: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [i, item] of left) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

function agree(context: CommandContext, jobs: readonly Job[]): Promise<boolean> {
  const commands = [...new Set(jobs.map(({ command }) => command.map(escapeLine).join(' ')))];
  return confirm(context, `run ${commands.join('; ')}?`, 'running recorded commands');
}

async function checkOne(
  context: CommandContext,
  { directory, found, command }: Job,
  how: PlaceOptions & { rules: readonly MatchRule[]; timeoutMs: number },
): Promise<CheckedRun> {
  const startedMs = performance.now();
  const about = (): Omit<CheckedRun, 'receipt' | 'error'> => ({
    runId: found?.runId ?? 'no run',
    place: relative(context.cwd, directory) || '.',
    durationMs: Math.round(performance.now() - startedMs),
  });
  try {
    if (!found) throw new OrangeboxError('OBX_RUN_NOT_FOUND', 'no replayable run can be read here');
    const receipt = await replayFound(context, { found, directory, command, stdio: 'ignore', ...how });
    return { ...about(), receipt };
  } catch (error) {
    const { code, message } = codedError(error) ?? {
      code: 'OBX_REPLAY_NO_PROGRAM',
      message: `${escapeLine(command[0] ?? '')} cannot be run: ${errnoOf(error) ?? String(error)}`,
    };
    return { ...about(), error: { code, message, exitCode: exitCodeOf(error) } };
  }
}

function jsonLine(run: CheckedRun): string {
  const { receipt, ...rest } = run;
  return safeJson({
    ...rest,
    ...(receipt === undefined ? {} : { receipt: JSON.parse(receiptJson(receipt)) as unknown }),
  });
}
