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
}

/** Options that mean something with `--since` only, and with `--canary` only. */
const WITH_SINCE = ['until', 'grace', 'tailSampled', 'quick'] as const;
const WITH_CANARY = ['wait', 'keep'] as const;

/** Checks this machine; with `--since` spans against objects, with `--canary` the way there. */
export async function doctor(context: CommandContext, options: DoctorOptions): Promise<number> {
  const { since } = options;
  if (since !== undefined && options.canary === true)
    throw usage('--since and --canary are two checks', 'run them one after the other');
  const misplaced = [
    ...(since === undefined ? WITH_SINCE.map((name) => [name, '--since'] as const) : []),
    ...(options.canary === true ? [] : WITH_CANARY.map((name) => [name, '--canary'] as const)),
  ].find(([name]) => options[name] !== undefined);
  if (misplaced) {
    const flag = misplaced[0].replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw usage(`--${flag} goes with ${misplaced[1]}`, 'orangebox doctor --help shows what it takes');
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
