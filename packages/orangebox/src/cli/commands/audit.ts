/** `orangebox audit -- COMMAND…`: runs a command under the recorder and reports whatever of Orangebox is where it should not be. */
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { safeJson } from '../text/escape.ts';
import { presenceOf, reportJson, writeReport } from '../audit/report.ts';
import { runAudit } from '../audit/run-audit.ts';
import { runProcess } from '../audit/run-audited.ts';
import { cannotRun, isNotRunnable, passSignals } from './run.ts';

/** Options of `audit`. */
export interface AuditCommandOptions {
  live?: boolean;
  keep?: boolean;
  allowFailure?: boolean;
  json?: boolean;
}

/** Runs the audit; exit code 1 with a finding. */
export async function audit(
  context: CommandContext,
  command: readonly string[],
  options: AuditCommandOptions,
): Promise<number> {
  const [program, ...words] = command;
  if (program === undefined)
    throw new OrangeboxError('OBX_CLI_USAGE', 'no command to run', { hint: 'orangebox audit -- node app.js' });
  const { terminal, cwd } = context;
  let stop: (() => void) | undefined;
  try {
    const report = await runAudit(context, {
      live: options.live === true,
      keep: options.keep === true,
      allowFailure: options.allowFailure === true,
      run: (env) =>
        runProcess(
          program,
          words,
          // With --json standard output is the report's alone.
          { env, cwd, stdio: options.json === true ? ['inherit', 2, 'inherit'] : 'inherit' },
          (child) => {
            stop = passSignals((signal) => void child.kill(signal), process.stdin.isTTY === true);
          },
        ),
    });
    const presence = presenceOf(report);
    if (options.json === true) terminal.line(safeJson(reportJson(report, presence), 2));
    else writeReport(context, report, presence);
    return report.clean ? EXIT.ok : EXIT.finding;
  } catch (error) {
    if (isNotRunnable(error)) return cannotRun(context, program, error, 'orangebox audit -- node app.js');
    throw error;
  } finally {
    stop?.();
  }
}
