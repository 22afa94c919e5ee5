/** `orangebox doctor --determinism RUN`: which sources of outside values reach what a recorded program asks for. */
import { availableParallelism } from 'node:os';
import { receiptText } from '@orangebox/replay';
import { findRun } from '@orangebox/replay/process';
import type { CommandContext } from '../context.ts';
import { type Reached, type Survey, survey, wentAsRecorded } from '../determinism/survey.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { parseDuration } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { agreedCommand } from '../replay-run/agreed-command.ts';
import { CannotStart } from '../replay-run/replay-found.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { cannotRun } from './run.ts';

/** Options of the survey. */
export interface DeterminismOptions {
  yes?: boolean;
  json?: boolean;
  timeout?: string;
}

const JOBS_MAX = 4;
/** A replay that takes longer is ended. */
const TIMEOUT_DEFAULT = '10m';

/** Ends with 1 where a source was found, and with the exit code of a replay's verdict where none can be told. */
export async function determinism(
  context: CommandContext,
  reference: string,
  words: readonly string[],
  options: DeterminismOptions,
): Promise<number> {
  const { dir: directory } = locate(context);
  const found = findRun(directory, reference);
  const name = `doctor --determinism ${found.runId}`;
  const command = words.length > 0 ? words : await agreedCommand(context, { found, directory, name, yes: options.yes });
  if (command === undefined) return EXIT.refused;
  const timeoutMs = parseDuration(options.timeout ?? TIMEOUT_DEFAULT, '--timeout');
  const jobs = Math.min(JOBS_MAX, availableParallelism());
  let result: Survey;
  try {
    const work = survey(context, { found, directory, command, rules: [], timeoutMs, jobs });
    result = await withProgress(context.terminal, () => 'replaying with other values', work);
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    return cannotRun(context, command[0] ?? '', error.cause, `orangebox ${name} -- node app.js`);
  }
  const isTold = wentAsRecorded(result.baseline);
  if (options.json === true) context.terminal.line(safeJson(jsonOf(result)));
  else if (isTold) for (const line of linesOf(result)) context.terminal.line(escapeLine(line));
  if (!isTold) {
    if (options.json !== true) context.terminal.note(receiptText(result.baseline).trimEnd());
    return result.baseline.exitCode;
  }
  return countOf(result) > 0 ? EXIT.finding : EXIT.ok;
}

function countOf({ sources, environmentOrder }: Survey): number {
  return sources.length + (environmentOrder ? 1 : 0);
}

function jsonOf({ baseline, ...rest }: Survey): unknown {
  return { ...rest, baseline: baseline.verdict };
}

function linesOf(result: Survey): string[] {
  const { run, places, replays, sources, environmentOrder } = result;
  const count = countOf(result);
  const asked = `${places} ${places === 1 ? 'place asks' : 'places ask'} for outside values`;
  const what =
    count === 0 ? 'none reaches a request' : `${count} ${count === 1 ? 'reaches' : 'reach'} what is asked for`;
  const all = sources.map(({ places: some, reached }) => {
    const names = some.map(({ source, at }) => `${source} at ${at === '' ? 'an unknown place' : at}`);
    return `  ${names.join(' with ')}: ${wordsOf(reached)}`;
  });
  if (environmentOrder) all.push(`  the order of environment variables: ${wordsOf(environmentOrder)}`);
  return [`${run}: ${asked}, ${what} (${replays} replays)`, ...all];
}

function wordsOf({ step, summary, paths }: Reached): string {
  return paths.length > 0 ? `step ${step}, ${paths.join(', ')}` : `step ${step}, ${summary}`;
}
