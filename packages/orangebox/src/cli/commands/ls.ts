/** `orangebox ls`: the recorded calls, newest first. */
import {
  endedByCaller,
  findSessionId,
  hasFailed,
  type ListFilter,
  ownCalls,
  type SnapshotStore,
  type StoredEntry,
} from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { fieldsOf } from '../entry-fields.ts';
import { keptOf, nameOf, outcomeOf, placeOf, scopeOf, sessionOf, toolsOf } from '../entry-facts.ts';
import { EXIT } from '../exit-codes.ts';
import { type FilterOptions, filterFrom } from '../filter-options.ts';
import { JoinedStore } from '../joined-store.ts';
import { openStore } from '../open-store.ts';
import { parseCount } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { writeNext } from '../show/next-commands.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatAge, formatCount, formatDuration, millisecondsBetween } from '../text/format.ts';
import { type Column, renderTable } from '../text/table.ts';

/** Options of `ls`. */
export interface LsOptions extends FilterOptions {
  number?: string;
  json?: boolean;
  reverse?: boolean;
  runs?: boolean;
  table?: boolean;
}

const DEFAULT_LIMIT = 30;
/** As far back as a trace backend is asked without a time. */
const UNTIMED_MS = 3_600_000;

/** Lists calls: a table on a terminal, tab-separated fields off one, JSON with `--json`. */
export async function ls(context: CommandContext, options: LsOptions): Promise<number> {
  const { terminal } = context;
  const limit = options.number === undefined ? DEFAULT_LIMIT : parseCount(options.number, '-n', 0);
  if (options.runs === true) return (await import('./ls-runs.ts')).lsRuns(context, limit, options);
  const filter = filterFrom(options, context.nowMs);
  const { store, places, remote } = await openStore(context);
  const isTimed = [filter.sinceUnixMs, filter.untilUnixMs, filter.traceId, filter.sessionId].some(
    (v) => v !== undefined,
  );
  // A backend is asked about this time by itself: the bucket beside it tells which promises are kept, and the tools asked for.
  const isLastHour = !isTimed && places.source !== undefined && store instanceof JoinedStore;
  if (isLastHour) store.assume({ sinceUnixMs: context.nowMs - UNTIMED_MS });
  if (filter.sessionId !== undefined)
    filter.sessionId = (await sessionIdOf(filter.sessionId, store, filter)) ?? filter.sessionId;
  const entries: StoredEntry[] = [];
  let more = false;
  const collect = async (): Promise<void> => {
    for await (const entry of store.list({ ...ownCalls(filter), ...(limit === 0 ? {} : { limit: limit + 1 }) })) {
      if (limit > 0 && entries.length === limit) {
        more = true;
        break;
      }
      entries.push(entry);
    }
  };
  await withProgress(terminal, () => `reading ${entries.length} calls`, collect());
  if (options.reverse === true) entries.reverse();
  if (options.json === true) terminal.line(safeJson(entries, 2));
  else if (terminal.interactive || options.table === true) writeTable(context, entries);
  else for (const entry of entries) terminal.line(fieldsOf(entry).join('\t'));
  if (entries.length === 0 && terminal.errorInteractive) {
    terminal.note(Object.keys(filter).length > 0 ? 'no call matches' : 'nothing is recorded yet');
  }
  if (remote.length > 0) await noteLimits(context, store, isLastHour);
  if (more && terminal.errorInteractive) terminal.note(`the newest ${limit} are shown; -n 0 shows all`);
  await store.close();
  return EXIT.ok;
}

/** The whole id of a session; asked for exactly first, since the beginning of one takes a look at all calls. */
async function sessionIdOf(text: string, store: SnapshotStore, filter: ListFilter): Promise<string | undefined> {
  const { sinceUnixMs } = filter;
  const time = sinceUnixMs === undefined ? {} : { sinceUnixMs };
  for await (const { session } of store.list({ ...time, sessionId: text, limit: 1 })) return session?.id;
  return findSessionId(text, store, sinceUnixMs);
}

/** What the list does not show because a place elsewhere was not asked for it. */
async function noteLimits({ terminal }: CommandContext, store: SnapshotStore, isLastHour: boolean): Promise<void> {
  const cut = (await store.problems()).find((problem) => problem.code === 'OBX_SOURCE_TRUNCATED');
  if (cut !== undefined) terminal.note(escapeLine(`${cut.message}${cut.hint === undefined ? '' : `: ${cut.hint}`}`));
  if (isLastHour && terminal.errorInteractive)
    terminal.note('without --since places elsewhere are asked about the last hour');
}

function writeTable(context: CommandContext, entries: readonly StoredEntry[]): void {
  if (entries.length === 0) return;
  const c = context.terminal.colors;
  const columns: Column<StoredEntry>[] = [
    { title: 'ref', cell: (e) => e.ref, paint: c.yellow },
    { title: 'age', cell: (e) => formatAge(e.time.startUnixNano, context.nowMs), align: 'right', paint: c.dim },
    { title: 'session', dropFirst: 7, cell: sessionOf, shrinkTo: 8 },
    { title: '#', dropFirst: 3, cell: placeOf, align: 'right', paint: c.dim },
    { title: 'step', dropFirst: 4, cell: scopeOf, shrinkTo: 8 },
    {
      title: 'model',
      cell: nameOf,
      shrinkTo: 12,
      paint: (text, e) => (e.tool === undefined ? c.bold(text) : c.magenta(text)),
    },
    {
      title: 'status',
      cell: outcomeOf,
      shrinkTo: 6,
      paint: (text, e) =>
        hasFailed(e)
          ? c.red(text)
          : e.status === 'open'
            ? c.cyan(text)
            : endedByCaller(e)
              ? c.yellow(text)
              : c.green(text),
    },
    {
      title: 'tries',
      dropFirst: 2,
      cell: (e) => ((e.summary?.attempts ?? 1) > 1 ? String(e.summary?.attempts) : ''),
      align: 'right',
    },
    { title: 'in', dropFirst: 5, cell: (e) => count(e.summary?.inputTokens), align: 'right' },
    { title: 'out', dropFirst: 6, cell: (e) => count(e.summary?.outputTokens), align: 'right' },
    { title: 'first', dropFirst: 1, cell: firstOf, align: 'right', paint: c.dim },
    { title: 'total', cell: totalOf, align: 'right' },
    { title: 'tools', dropFirst: 8, cell: toolsOf, shrinkTo: 8, paint: c.magenta },
    {
      title: 'kept',
      cell: keptOf,
      shrinkTo: 7,
      paint: (text, e) =>
        e.status === 'lost' ? c.red(text) : e.fidelity.level === 'exact' ? c.dim(text) : c.yellow(text),
    },
  ];
  const lines = renderTable(entries, columns, { width: context.terminal.width, header: c.dim });
  for (const line of lines) context.terminal.line(line);
  const ref = entries.find((entry) => entry.kind === 'llm')?.ref;
  if (ref !== undefined && context.terminal.interactive)
    writeNext(context.terminal, [
      [`orangebox show ${ref}`, 'a call as a conversation; a session or trace id shows its calls'],
    ]);
}

function count(tokens: number | undefined): string {
  return tokens === undefined ? '' : formatCount(tokens);
}

function firstOf(entry: StoredEntry): string {
  const nano = entry.summary?.timeToFirstChunkNano;
  return nano === undefined ? '' : formatDuration(Number(nano) / 1e6);
}

function totalOf(entry: StoredEntry): string {
  if (entry.status === 'open') return '';
  return formatDuration(millisecondsBetween(entry.time.startUnixNano, entry.time.endUnixNano));
}
