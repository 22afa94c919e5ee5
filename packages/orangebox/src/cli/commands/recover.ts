/** `orangebox recover [DIR]`: completes and ships what processes that have ended left behind. One pass. */
import { resolve } from 'node:path';
import { type RecorderConfig, readConfig } from '@orangebox/recorder';
import type { RecoveryReport, SweptCounts } from '@orangebox/recorder/recovery';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isDirectory, locate, nothingRecorded } from '../locate.ts';
import { parseDuration, usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { plural } from '../text/format.ts';

/** Options of `recover`. */
export interface RecoverOptions {
  endpoint?: string;
  timeout?: string;
  retryQuarantined?: boolean;
  json?: boolean;
}

const TIMEOUT_MS = 60_000;

/** Exit code 7 when an endpoint did not take all, 1 when it refused something or a recording could not be read back. */
export async function recover(
  context: CommandContext,
  directory: string | undefined,
  options: RecoverOptions,
): Promise<number> {
  const { terminal } = context;
  const timeoutMs = options.timeout === undefined ? TIMEOUT_MS : parseDuration(options.timeout, '--timeout');
  const dir = recordingsIn(context, directory);
  const config = shippingConfig(context, options.endpoint);
  const { createRecovery, recoverDirectory, sweepFullDirectory } = await import('@orangebox/recorder/recovery');
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  const troubles = new Map<string, string>();
  const host = createRecovery({
    dir,
    config,
    env: context.env.all,
    kind: 'recover',
    retryQuarantined: options.retryQuarantined === true,
    signal: stop.signal,
    onTrouble: (code, message) => void troubles.set(code, message),
  });
  let done = 0;
  let report: RecoveryReport;
  let removed: SweptCounts;
  try {
    report = await withProgress(
      terminal,
      () => `recovering: ${plural(done, 'payload')} sent`,
      recoverDirectory(host, ({ sent }) => (done += sent)),
    );
    // Afterwards: what was sent goes first.
    removed = await sweepFullDirectory(dir);
  } finally {
    clearTimeout(timer);
  }
  const isCut = stop.signal.aborted;
  const ways = { endpoint: config.endpoint !== undefined, spans: config.otel.exporter === 'otlp' };
  const problems = [...troubles].map(([code, message]) => ({ code, message }));
  if (options.json === true) terminal.line(safeJson({ ...report, removed, timedOut: isCut, problems }, 2));
  else {
    tell(context, report, ways, [...troubles.values()], isCut);
    if (removed.unsent + removed.sent > 0) terminal.note(`  ${sweptLine(removed)}`);
  }
  return Math.max(exitCode(report, ways, isCut), troubles.has('recovery_fault') ? EXIT.finding : EXIT.ok);
}

/** The directory that is meant. @throws OrangeboxError `OBX_DIR_*` */
export function recordingsIn(context: CommandContext, directory: string | undefined): string {
  const located = locate(directory === undefined ? context : { ...context, dir: resolve(context.cwd, directory) });
  if (!located.exists || !isDirectory(located.dir)) throw nothingRecorded(context, located);
  return located.dir;
}

/** Where payloads and spans go: what the environment says to programs, with `--endpoint` over it. */
export function shippingConfig(context: CommandContext, endpoint: string | undefined): RecorderConfig {
  const env = { ...context.env.all, ...(endpoint === undefined ? {} : { ORANGEBOX_ENDPOINT: endpoint }) };
  const warnings = new Map<string, string>();
  const config = readConfig(
    env,
    (variable, message) => void warnings.set(variable, message),
    () => context.cwd,
  );
  const refused = warnings.get('ORANGEBOX_ENDPOINT');
  if (refused !== undefined && config.endpoint === undefined)
    throw usage(
      endpoint === undefined ? refused : refused.replace('ORANGEBOX_ENDPOINT', '--endpoint'),
      'an endpoint is a base URL: https://collector.example:4319',
    );
  return config;
}

/** What bounds took, where a program found the directory full. */
export function sweptLine({ unsent, sent }: SweptCounts): string {
  const some = `${plural(unsent + sent, 'recording')} removed for ORANGEBOX_DIR_BYTES`;
  return unsent > 0 ? `${some}, ${unsent} of them sent nowhere` : some;
}

interface Ways {
  endpoint: boolean;
  spans: boolean;
}

function tell(
  { terminal }: CommandContext,
  report: RecoveryReport,
  ways: Ways,
  troubles: readonly string[],
  isCut: boolean,
): void {
  const c = terminal.colors;
  if (report.series === 0 && report.busy === 0 && report.left === 0 && report.spansLeft === 0) {
    terminal.line('nothing to recover');
  } else {
    const died = report.calls > 0 ? `, ${plural(report.calls, 'call')} of processes that died completed` : '';
    terminal.line(`${plural(report.series, 'series', 'series')} looked at${died}`);
    if (ways.endpoint || report.sent + report.already > 0) terminal.line(payloadLine(report, c));
    if (ways.spans || report.spansSent > 0)
      terminal.line(
        `${plural(report.spansSent, 'span')} sent${report.spansLeft > 0 ? `, ${report.spansLeft} left` : ''}`,
      );
  }
  if (report.quarantined > 0)
    terminal.note(
      `  ${plural(report.quarantined, 'payload')} refused before and not sent again: --retry-quarantined sends them`,
    );
  if (report.busy > 0)
    terminal.note(`  ${plural(report.busy, 'series', 'series')} left to somebody else who is at them now`);
  if (!ways.endpoint && report.left > 0)
    terminal.note(
      `  ${plural(report.left, 'payload')} ${report.left === 1 ? 'stays' : 'stay'} on this machine: no endpoint is set, name it with ORANGEBOX_ENDPOINT or --endpoint`,
    );
  if (!ways.spans && report.spansLeft > 0)
    terminal.note(
      `  ${plural(report.spansLeft, 'span')} not exported: no collector is set, name it with OTEL_EXPORTER_OTLP_ENDPOINT`,
    );
  for (const message of troubles) terminal.note(`  ${c.yellow(escapeLine(message))}`);
  if (isCut) terminal.note('  the time was over; the same command goes on from here (--timeout)');
}

function payloadLine(report: RecoveryReport, c: CommandContext['terminal']['colors']): string {
  const parts = [`${plural(report.sent, 'payload')} sent`];
  if (report.already > 0) parts.push(`${report.already} there already`);
  if (report.refused > 0) parts.push(c.red(`${report.refused} refused`));
  if (report.lost > 0) parts.push(c.red(`${report.lost} can't be read back`));
  if (report.left > 0) parts.push(c.yellow(`${report.left} left`));
  return parts.join(', ');
}

function exitCode(report: RecoveryReport, ways: Ways, isCut: boolean): number {
  if ((ways.endpoint && report.left > 0) || (ways.spans && report.spansLeft > 0) || isCut) return EXIT.network;
  return report.refused > 0 || report.lost > 0 ? EXIT.finding : EXIT.ok;
}
