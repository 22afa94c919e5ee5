/** `orangebox ls --runs`: runs that can be replayed, newest first. */
import type { FoundRun, RecordedRun } from '@orangebox/replay/process';
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatAge, formatCount } from '../text/format.ts';
import { type Column, renderTable } from '../text/table.ts';
import { notReplayable } from './run.ts';

/** What `--runs --json` gives of each. */
export interface ListedRun {
  runId: string;
  startUnixNano: string;
  /** As it was started; a credential among the arguments is replaced. */
  command: string;
  node: string;
  /** Absent where the process died, or where the recording cannot be read. */
  exitCode?: number;
  signal?: string;
  requests: number;
  processes: number;
  threads: number;
  notReplayable: { what: string; count: number }[];
  isDamaged: boolean;
}

/** Lists them. `limit`: how many at most; 0 for all. */
export async function lsRuns(context: CommandContext, limit: number, options: LsRunsOptions): Promise<number> {
  const { commandOf, findRuns, readRun } = await import('@orangebox/replay/process');
  const { terminal } = context;
  const all = findRuns(locate(context).dir).reverse();
  const found = limit === 0 ? all : all.slice(0, limit);
  const runs = found.map((run) => listed(run, escapeLine(commandOf(run)), readRun));
  if (options.reverse === true) runs.reverse();
  if (options.json === true) terminal.line(safeJson(runs, 2));
  else if (terminal.interactive || options.table === true) writeTable(context, runs);
  else for (const run of runs) terminal.line([run.runId, run.startUnixNano, endOf(run), run.command].join('\t'));
  if (!terminal.errorInteractive) return EXIT.ok;
  if (runs.length === 0) terminal.note('no run is recorded here: npx orangebox run --replayable -- node app.js');
  if (found.length < all.length) terminal.note(`the newest ${limit} are shown; -n 0 shows all`);
  return EXIT.ok;
}

/** How they are shown. */
export interface LsRunsOptions {
  reverse?: boolean;
  json?: boolean;
  table?: boolean;
}

function listed(found: FoundRun, command: string, readRun: (files: readonly string[]) => RecordedRun): ListedRun {
  const { runId, start, threads } = found;
  const facts: ListedRun = {
    runId,
    startUnixNano: start.startUnixNano,
    command,
    node: start.node,
    requests: 0,
    processes: 0,
    threads: threads.length,
    notReplayable: [],
    isDamaged: false,
  };
  for (const { threadId, files } of threads) {
    try {
      const run = readRun(files);
      facts.requests += run.exchanges.length;
      facts.processes += run.children.length;
      facts.notReplayable.push(...run.notReplayable.map(({ what, count }) => ({ what, count })));
      facts.isDamaged ||= run.isDamaged;
      if (threadId !== 0 || !run.end) continue;
      facts.exitCode = run.end.exitCode;
      if (run.end.signal !== undefined) facts.signal = run.end.signal;
    } catch (error) {
      // One that cannot be read is listed all the same.
      if (!(error instanceof OrangeboxError)) throw error;
      facts.isDamaged = true;
    }
  }
  return facts;
}

function endOf({ exitCode, signal, isDamaged }: ListedRun): string {
  if (isDamaged) return 'damaged';
  return signal ?? `exit ${exitCode ?? '?'}`;
}

function writeTable(context: CommandContext, runs: readonly ListedRun[]): void {
  if (runs.length === 0) return;
  const c = context.terminal.colors;
  const many = (count: number): string => (count === 0 ? '' : formatCount(count));
  const columns: Column<ListedRun>[] = [
    { title: 'run', cell: (run) => run.runId, paint: c.yellow },
    { title: 'age', cell: (run) => formatAge(run.startUnixNano, context.nowMs), align: 'right', paint: c.dim },
    {
      title: 'end',
      cell: (run) => escapeLine(endOf(run)),
      paint: (text, run) => (run.isDamaged ? c.red(text) : run.exitCode === 0 ? c.green(text) : c.yellow(text)),
    },
    { title: 'requests', dropFirst: 3, cell: (run) => many(run.requests), align: 'right' },
    { title: 'processes', dropFirst: 2, cell: (run) => many(run.processes), align: 'right' },
    { title: 'command', shrinkTo: 12, cell: (run) => run.command },
    {
      title: 'not replayable',
      dropFirst: 1,
      shrinkTo: 14,
      cell: (run) => run.notReplayable.map(({ what, count }) => escapeLine(notReplayable(what, count))).join(', '),
      paint: c.yellow,
    },
  ];
  for (const line of renderTable(runs, columns, { width: context.terminal.width, header: c.dim }))
    context.terminal.line(line);
}
