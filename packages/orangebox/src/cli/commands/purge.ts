/** `orangebox purge`: deletes recordings for good. */
import { findSessionId, type ListFilter } from '@orangebox/store';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { openStore } from '../open-store.ts';
import { parseTime, usage } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatBytes, formatTime, plural } from '../text/format.ts';

/** Options of `purge`. */
export interface PurgeOptions {
  session?: string;
  user?: string;
  before?: string;
  yes?: boolean;
  json?: boolean;
}

/** Deletes the calls of a session, of a user, or from before a time, after asking. */
export async function purge(context: CommandContext, options: PurgeOptions): Promise<number> {
  const { terminal } = context;
  const filter: ListFilter = {};
  if (options.session !== undefined) filter.sessionId = options.session;
  if (options.user !== undefined) filter.userId = options.user;
  if (options.before !== undefined) filter.untilUnixMs = parseTime(options.before, context.nowMs);
  if (Object.keys(filter).length === 0) {
    throw usage(
      'purge needs to know what to delete',
      'name it with --session ID, --user ID or --before TIME (30d, 2026-03-01)',
    );
  }
  const { store } = await openStore(context, { onlyHere: true });
  try {
    if (options.session !== undefined)
      filter.sessionId = (await findSessionId(options.session, store)) ?? options.session;
    let count = 0;
    let newest: string | undefined;
    const look = async (): Promise<void> => {
      for await (const entry of store.list(filter)) {
        newest ??= entry.time.startUnixNano;
        count++;
      }
    };
    await withProgress(terminal, () => `looking: ${count} so far`, look());
    if (count === 0) {
      if (options.json === true) terminal.line(safeJson({ deleted: 0, freedBytes: 0, kept: 0 }));
      else terminal.line('nothing matches; nothing was deleted');
      return EXIT.ok;
    }
    const what = `${plural(count, 'recording')} in ${escapeLine(store.location)}`;
    const upTo = newest === undefined ? '' : `, the newest of ${formatTime(newest)}`;
    if (options.yes !== true && !(await confirm(context, `Delete ${what}${upTo}, for good?`, 'deleting recordings'))) {
      terminal.note('nothing was deleted');
      return EXIT.refused;
    }
    const result = await withProgress(terminal, () => 'deleting', store.delete(filter));
    const { removeUnusedContents } = await import('../replay-run/unused-contents.ts');
    const freedBytes = result.freedBytes + removeUnusedContents(locate(context).dir, context.nowMs);
    if (options.json === true) {
      terminal.line(safeJson({ deleted: result.deleted, freedBytes, kept: result.kept.length }));
    } else {
      terminal.line(`${plural(result.deleted, 'recording')} deleted, ${formatBytes(freedBytes)} freed`);
      if (result.kept.length > 0) {
        terminal.line(
          `${plural(result.kept.length, 'recording')} kept: a running program still writes that file; try again when it has ended`,
        );
      }
    }
    return result.kept.length > 0 ? EXIT.finding : EXIT.ok;
  } finally {
    await store.close();
  }
}
