/** `orangebox copy SRC DST`: recordings from one store to another. Nothing is moved, and it can be run again. */
import type { CommandContext } from '../context.ts';
import { openCopyPlace } from '../copy/copy-place.ts';
import { type CopyCounts, newCounts, runCopy } from '../copy/run-copy.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import { type FilterOptions, filterFrom } from '../filter-options.ts';
import { usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { plural } from '../text/format.ts';

/** Options of `copy`. */
export interface CopyOptions extends FilterOptions {
  json?: boolean;
}

const FAILURES_SHOWN = 10;

/** Copies what the filters take. Exit code 7 when a place did not answer, 4 when something was damaged, 1 for the rest. */
export async function copy(context: CommandContext, src: string, dst: string, options: CopyOptions): Promise<number> {
  const { terminal } = context;
  const filter = filterFrom(options, context.nowMs);
  const from = await openCopyPlace(context, src, 'src');
  const to = await openCopyPlace(context, dst, 'dst');
  if (from.location === to.location)
    throw usage(`source and target are both ${escapeLine(from.location)}`, 'name another place to copy to');
  const counts = newCounts();
  const label = (): string => `${plural(counts.copied, 'copy', 'copies')} made, ${counts.there} there already`;
  await withProgress(terminal, label, runCopy(from, to, filter, counts));
  const runs = from.bucket === undefined ? await runsIn(from.location) : 0;
  if (options.json === true)
    terminal.line(safeJson({ ...summaryOf(counts), ...(runs > 0 ? { runsNotCopied: runs } : {}) }, 2));
  else report(context, counts, to.location);
  if (runs > 0 && options.json !== true)
    terminal.note(
      `  ${plural(runs, 'run')} of whole programs ${runs === 1 ? 'is' : 'are'} not copied, only the calls: a run is replayed from its own directory, which can be copied as it is`,
    );
  return exitCode(counts);
}

/** Runs that can be replayed, in a directory of recordings. */
async function runsIn(directory: string): Promise<number> {
  const { findRuns } = await import('@orangebox/replay/process');
  return findRuns(directory).length;
}

function summaryOf(counts: CopyCounts): object {
  const failed = counts.failures.map(({ key, error }) => ({ key, code: error.code, message: error.message }));
  return { copied: counts.copied, alreadyThere: counts.there, failed, gaveUp: counts.gaveUp };
}

function report({ terminal }: CommandContext, counts: CopyCounts, location: string): void {
  const c = terminal.colors;
  const { failures } = counts;
  const parts = [
    `${plural(counts.copied, 'recording')} copied to ${escapeLine(location)}`,
    `${counts.there} there already`,
    failures.length === 0 ? '0 failed' : c.red(`${failures.length} failed`),
  ];
  terminal.line(parts.join(', '));
  // Where nothing was ever sent nothing is counted as not sent.
  if (counts.sent > 0 && counts.unsent > 0)
    terminal.note(
      `  ${counts.unsent} of them stay "not sent" in orangebox: that counts what ORANGEBOX_ENDPOINT acknowledged, and a copy writes nothing to the recordings`,
    );
  for (const { key, error } of failures.slice(0, FAILURES_SHOWN))
    terminal.note(`  ${c.red(escapeLine(key))} ${escapeLine(error.message)} ${c.dim(`[${error.code}]`)}`);
  if (failures.length > FAILURES_SHOWN)
    terminal.note(`  and ${failures.length - FAILURES_SHOWN} more; --json names all`);
  if (counts.gaveUp)
    terminal.note('  a place does not answer, or has no room, any more; the same command goes on from here');
}

function exitCode({ failures }: CopyCounts): number {
  const codes = new Set(failures.map(({ error }) => exitCodeOf(error)));
  for (const code of [EXIT.network, EXIT.unreadable, EXIT.damaged]) if (codes.has(code)) return code;
  return failures.length > 0 ? EXIT.finding : EXIT.ok;
}
