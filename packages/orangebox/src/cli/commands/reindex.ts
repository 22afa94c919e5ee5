/** `orangebox archive --reindex`: makes the index of a bucket anew from its snapshots, beside archivers that run. */
import { readStore } from '@orangebox/server';
import { openBucket, type ReindexProgress, type ReindexResult, reindexRange } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { parseTime, usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { plural } from '../text/format.ts';

/** Options of a reindex. */
export interface ReindexOptions {
  store?: string;
  since?: string;
  until?: string;
  json?: boolean;
}

const FAULTS_SHOWN = 10;

/** Reindexes calls that started in a span of time. Exit code 1 when a snapshot could not be read. */
export async function reindex(context: CommandContext, options: ReindexOptions): Promise<number> {
  const { env, cwd, nowMs, terminal } = context;
  if (options.since === undefined) {
    throw usage('--reindex needs to know from when on', 'name it with --since 2h (3d, 2026-03-01)');
  }
  const sinceUnixMs = parseTime(options.since, nowMs);
  const untilUnixMs = options.until === undefined ? nowMs : parseTime(options.until, nowMs);
  if (untilUnixMs <= sinceUnixMs) throw usage('--until is not after --since', 'for example --since 3d --until 2d');
  const bucket = openBucket(readStore(env.all, options), { env: env.all, cwd });
  try {
    let last: ReindexProgress | undefined;
    const label = (): string | undefined => last && `${last.day}: ${plural(last.opened, 'snapshot')} read`;
    const work = reindexRange(bucket, { sinceUnixMs, untilUnixMs }, { onProgress: (progress) => (last = progress) });
    const result = await withProgress(terminal, label, work);
    if (options.json === true) terminal.line(safeJson({ store: bucket.location, ...result }, 2));
    else report(context, bucket.location, result);
    return result.unreadable > 0 ? EXIT.finding : EXIT.ok;
  } finally {
    await bucket.close();
  }
}

function report({ terminal }: CommandContext, location: string, result: ReindexResult): void {
  const { rows, days, opened, objectsWritten, objectsDeleted, unreadable, faults } = result;
  terminal.line(
    `${plural(rows, 'row')} of ${plural(opened, 'snapshot')} on ${plural(days, 'day')} in ${escapeLine(location)}: ` +
      `${plural(objectsWritten, 'index object')} written, ${objectsDeleted} replaced`,
  );
  if (unreadable === 0) return;
  const c = terminal.errorColors;
  terminal.note(
    `${c.red(plural(unreadable, 'snapshot'))} could not be read and ${unreadable === 1 ? 'has' : 'have'} no row`,
  );
  for (const { key, code } of faults.slice(0, FAULTS_SHOWN))
    terminal.note(`  ${escapeLine(key)} ${c.dim(`[${code}]`)}`);
  if (faults.length > FAULTS_SHOWN) terminal.note(`  and more; --json names the first ${faults.length}`);
}
