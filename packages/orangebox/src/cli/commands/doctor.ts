/** `orangebox doctor`: is everything as it should be, and if not, what to do. */
import type { CommandContext } from '../context.ts';
import { checkEnvironment } from '../doctor/check-environment.ts';
import { checkDirectory } from '../doctor/check-directory.ts';
import { checkPlaces } from '../doctor/check-places.ts';
import { checkRecordings } from '../doctor/check-recordings.ts';
import { checkVersions } from '../doctor/check-versions.ts';
import type { Check } from '../doctor/check.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { padEnd } from '../text/table.ts';

/** Options of `doctor`. */
export interface DoctorOptions {
  json?: boolean;
  since?: string;
  until?: string;
  grace?: string;
  tailSampled?: boolean;
  quick?: boolean;
  canary?: boolean;
  wait?: string;
  keep?: boolean;
  determinism?: string;
  timeout?: string;
  yes?: boolean;
}

/** Options that mean something with one of the checks only. */
const ONLY_WITH = {
  since: ['until', 'grace', 'tailSampled', 'quick'],
  canary: ['wait', 'keep'],
  determinism: ['timeout', 'yes'],
} as const;
const CHECKS = Object.keys(ONLY_WITH) as (keyof typeof ONLY_WITH)[];

/** Checks this machine; with `--since` spans against objects, with `--canary` the way there, with `--determinism` a run. */
export async function doctor(
  context: CommandContext,
  options: DoctorOptions,
  words: readonly string[] = [],
): Promise<number> {
  const { since, determinism: run } = options;
  const [chosen, another] = CHECKS.filter((name) => options[name] !== undefined);
  if (another !== undefined) throw usage(`--${chosen} and --${another} are two checks`, 'run them one after the other');
  const misplaced = CHECKS.filter((name) => name !== chosen).flatMap((name) =>
    ONLY_WITH[name].filter((option) => options[option] !== undefined).map((option) => [option, name] as const),
  )[0];
  if (misplaced) {
    const flag = misplaced[0].replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw usage(`--${flag} goes with --${misplaced[1]}`, 'orangebox doctor --help shows what it takes');
  }
  if (words.length > 0 && run === undefined)
    throw usage('a command goes with --determinism', 'see orangebox doctor --help');
  if (run !== undefined) {
    const { determinism } = await import('./determinism.ts');
    return determinism(context, run, words, options);
  }
  if (since !== undefined) {
    const { compare } = await import('../doctor/compare.ts');
    return compare(context, { ...options, since });
  }
  if (options.canary === true) {
    const { canary } = await import('../doctor/canary.ts');
    return canary(context, options);
  }
  return checkAll(context, options);
}

/** Runs all checks; exit code 1 when one of them found a problem, warnings alone leave it 0. */
async function checkAll(context: CommandContext, options: { json?: boolean }): Promise<number> {
  const { terminal } = context;
  const located = locate(context);
  const work = async (): Promise<Check[]> => [
    ...(await checkDirectory(located)),
    ...(located.exists ? await checkRecordings(context) : []),
    ...(await checkVersions(context)),
    ...checkEnvironment(context),
    ...(await checkPlaces(context)),
  ];
  const checks = await withProgress(terminal, () => 'checking', work());
  if (options.json === true) terminal.line(safeJson(checks, 2));
  else {
    const c = terminal.colors;
    const marks = { ok: c.green('✓'), warning: c.yellow('!'), problem: c.red('✗') };
    const width = Math.max(...checks.map((check) => check.name.length));
    for (const check of checks) {
      terminal.line(`${marks[check.result]} ${c.bold(padEnd(check.name, width))}  ${escapeLine(check.message)}`);
      if (check.hint !== undefined) terminal.line(`    ${c.cyan(escapeLine(check.hint))}`);
    }
  }
  return checks.some((check) => check.result === 'problem') ? EXIT.finding : EXIT.ok;
}
