/** `orangebox doctor`: is everything as it should be, and if not, what to do. */
import type { CommandContext } from '../context.ts';
import { checkEnvironment } from '../doctor/check-environment.ts';
import { checkDirectory } from '../doctor/check-directory.ts';
import { checkRecordings } from '../doctor/check-recordings.ts';
import { checkVersions } from '../doctor/check-versions.ts';
import type { Check } from '../doctor/check.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { padEnd } from '../text/table.ts';

/** Runs all checks; exit code 1 when one of them found a problem, warnings alone leave it 0. */
export async function doctor(context: CommandContext, options: { json?: boolean }): Promise<number> {
  const { terminal } = context;
  const located = locate(context);
  const work = async (): Promise<Check[]> => [
    ...(await checkDirectory(located)),
    ...(located.exists ? await checkRecordings(context) : []),
    ...(await checkVersions(context)),
    ...checkEnvironment(context),
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
