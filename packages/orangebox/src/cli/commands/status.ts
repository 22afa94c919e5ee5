/** `orangebox` alone: the state, the last problem, what to do next. */
import { resolve } from 'node:path';
import {
  hasFailed,
  type SegmentStore,
  type SnapshotStore,
  type StoredEntry,
  type StoreProblem,
} from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { nameOf, outcomeOf } from '../entry-facts.ts';
import { EXIT } from '../exit-codes.ts';
import { type Located, locate } from '../locate.ts';
import { isUrl } from '../look-up.ts';
import { openStore } from '../open-store.ts';
import { placeLines } from '../place-lines.ts';
import { findPlaces, type Places, shownUrl } from '../places.ts';
import { withProgress } from '../progress.ts';
import { type RunReport, readLastRun } from '../run-report.ts';
import { agoText } from '../show/header.ts';
import { asTyped, type NextCommand, writeNext } from '../show/next-commands.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { dateOf, formatBytes, formatCount, plural } from '../text/format.ts';
import { directorySize } from '../directory-size.ts';

interface State {
  dir: string;
  sizeBytes: number;
  files: number;
  calls: number;
  tools: number;
  http: number;
  sessions: number;
  failed: number;
  lost: number;
  partial: number;
  running: number;
  shipped: number;
  unshipped: number;
  /** Refused by the endpoint for good. */
  quarantined: number;
  /** Calls whose process died, not completed yet. */
  unrecovered: number;
  /** Calls and tool runs that sampling or the level let go. */
  notSampled: number;
  inputTokens: number;
  outputTokens: number;
  newest?: StoredEntry;
  lastProblem?: StoredEntry;
  problems: StoreProblem[];
  lastRun?: RunReport;
}

/** Shows the state of the store. */
export async function status(context: CommandContext, options: { json?: boolean }): Promise<number> {
  const located = locate(context);
  const { terminal } = context;
  const places = await findPlaces(context);
  const reads = readsOf(places);
  // What is elsewhere is named, and not asked: counting it would take a listing of all of it.
  if (!(places.local && located.exists) && listedDirectory(places) === undefined) {
    const facts = places.local ? { dir: located.dir, exists: false } : {};
    if (options.json === true) terminal.line(safeJson({ ...facts, ...reads }));
    else {
      if (places.local) writeNothingYet(context, located);
      else terminal.line(`${terminal.colors.bold('orangebox')}  what is elsewhere is not counted`);
      writePlaces(context, places);
    }
    return EXIT.ok;
  }
  const state = await withProgress(terminal, () => 'reading the recordings', gather(context));
  if (options.json === true) terminal.line(safeJson({ exists: true, ...state, ...reads }, 2));
  else {
    writeState(context, state);
    writePlaces(context, places);
    if (terminal.interactive) writeNext(terminal, nextCommands(state));
  }
  return EXIT.ok;
}

/** A store on this machine that is listed by itself. */
function listedDirectory({ store }: Places): string | undefined {
  return store === undefined || store.payloadsOnly || isUrl(store.url) ? undefined : store.url;
}

function readsOf({ source, store, contextName }: Places): object {
  return {
    ...(contextName === undefined ? {} : { context: contextName }),
    ...(source === undefined ? {} : { source: shownUrl(source.url) }),
    ...(store === undefined ? {} : { store: shownUrl(store.url) }),
  };
}

/** What else commands read. */
function writePlaces({ terminal }: CommandContext, places: Places): void {
  const lines = placeLines(places, terminal);
  if (lines.length === 0) return;
  terminal.line();
  terminal.line(places.local ? '  also read' : '  read');
  for (const line of lines) terminal.line(`  ${line}`);
  terminal.line(`    ${terminal.colors.cyan(asTyped(terminal, 'orangebox ls --since 1h'))}`);
}

async function gather(context: CommandContext): Promise<State> {
  const { store, located, places, parts } = await openStore(context, { onlyHere: true });
  const named = places.local ? undefined : listedDirectory(places);
  const size = await directorySize(named === undefined ? located.dir : resolve(context.cwd, named));
  const state: State = {
    dir: store.location,
    sizeBytes: size.sizeBytes,
    files: size.files,
    calls: 0,
    tools: 0,
    http: 0,
    sessions: 0,
    failed: 0,
    lost: 0,
    partial: 0,
    running: 0,
    shipped: 0,
    unshipped: 0,
    quarantined: 0,
    unrecovered: 0,
    notSampled: 0,
    inputTokens: 0,
    outputTokens: 0,
    problems: [],
  };
  const sessions = new Set<string>();
  for await (const entry of store.list()) {
    if (entry.kind === 'llm') state.calls++;
    else if (entry.kind === 'tool') state.tools++;
    else state.http++;
    if (entry.session !== undefined) sessions.add(entry.session.id);
    if (hasFailed(entry)) {
      state.failed++;
      state.lastProblem ??= entry;
    }
    if (entry.unrecovered === true) state.unrecovered++;
    if (entry.quarantined !== undefined) state.quarantined++;
    else if (entry.shipped === true) state.shipped++;
    else if (entry.key !== undefined && entry.status === 'stored') state.unshipped++;
    if (entry.status === 'lost') state.lost++;
    else if (entry.status === 'open') state.running++;
    else if (entry.status === 'stored' && entry.fidelity.level === 'partial') state.partial++;
    state.inputTokens += entry.summary?.inputTokens ?? 0;
    state.outputTokens += entry.summary?.outputTokens ?? 0;
    state.newest ??= entry;
  }
  state.sessions = sessions.size;
  state.problems = await store.problems();
  for (const part of parts) state.notSampled += await notSampledIn(part);
  const lastRun = places.local ? readLastRun(located.dir) : undefined;
  if (lastRun !== undefined) state.lastRun = lastRun;
  await store.close();
  return state;
}

/** What the recording programs left out on purpose, as their segments say. */
async function notSampledIn(part: SnapshotStore): Promise<number> {
  if (!('dropped' in part)) return 0;
  const drops = await (part as SegmentStore).dropped();
  return drops.find(({ reason }) => reason === 'not_sampled')?.count ?? 0;
}

function writeState(context: CommandContext, state: State): void {
  const { terminal, nowMs } = context;
  const c = terminal.colors;
  terminal.line(
    `${c.bold('orangebox')}  ${escapeLine(state.dir)}  ${c.dim(`${formatBytes(state.sizeBytes)} in ${plural(state.files, 'file')}`)}`,
  );
  terminal.line();
  if (state.newest === undefined)
    terminal.line(state.notSampled > 0 ? '  nothing is kept' : '  nothing is recorded yet');
  else {
    const counts = [
      plural(state.calls, 'call'),
      plural(state.sessions, 'session'),
      state.tools > 0 ? plural(state.tools, 'tool run') : '',
      state.http > 0 ? plural(state.http, 'other request') : '',
      state.running > 0 ? c.cyan(`${state.running} running`) : '',
      state.failed > 0 ? c.red(`${state.failed} failed`) : '',
      state.partial > 0 ? c.yellow(`${state.partial} partial`) : '',
      state.lost > 0 ? c.red(`${state.lost} lost`) : '0 lost',
      // Where nothing was ever sent nothing is meant to be.
      state.shipped > 0 && state.unshipped > 0 ? c.yellow(`${state.unshipped} not sent`) : '',
      state.quarantined > 0 ? c.yellow(`${state.quarantined} refused by the endpoint`) : '',
    ];
    terminal.line(`  ${counts.filter((part) => part !== '').join(' · ')}`);
    terminal.line(
      c.dim(
        `  ${formatCount(state.inputTokens)} tokens in, ${formatCount(state.outputTokens)} out · the newest ${agoText(state.newest.time.startUnixNano, nowMs)}`,
      ),
    );
  }
  if (state.notSampled > 0)
    terminal.line(
      c.dim(
        `  ${plural(state.notSampled, 'call or tool run', 'calls and tool runs')} not kept, as ORANGEBOX_SAMPLE or the level says`,
      ),
    );
  writeProblems(context, state);
  writeUnrecognised(context, state);
}

function writeProblems(context: CommandContext, state: State): void {
  const { terminal, nowMs } = context;
  const c = terminal.colors;
  const problem = state.lastProblem;
  if (problem !== undefined) {
    const why = problem.error === undefined ? '' : `: ${problem.error.message.split('\n')[0]?.slice(0, 120) ?? ''}`;
    terminal.line();
    terminal.line(
      `  ${c.red('last problem')}  ${nameOf(problem)} ${c.red(outcomeOf(problem))} ${agoText(problem.time.startUnixNano, nowMs)}${escapeLine(why)}`,
    );
    terminal.line(`                ${c.cyan(asTyped(terminal, `orangebox show ${problem.ref}`))}`);
  }
  if (state.unrecovered > 0) {
    terminal.line();
    const wait = state.unrecovered === 1 ? 'waits' : 'wait';
    terminal.line(
      `  ${c.yellow(plural(state.unrecovered, 'call'))} of processes that died ${wait} to be completed and sent`,
    );
    terminal.line(`                ${c.cyan(asTyped(terminal, 'orangebox recover'))}`);
  }
  if (state.problems.length > 0) {
    terminal.line();
    terminal.line(
      `  ${c.yellow(plural(state.problems.length, 'problem'))} in the files: ${escapeLine(state.problems[0]?.message ?? '')}`,
    );
    terminal.line(`                ${c.cyan(asTyped(terminal, 'orangebox doctor'))}`);
  }
}

/** When the last run recognised nothing: which hosts it talked to, and the line that would record them. */
function writeUnrecognised(context: CommandContext, state: State): void {
  const { terminal } = context;
  const run = state.lastRun;
  if (run === undefined || run.recorded > 0) return;
  // Something was recorded since.
  if (state.newest !== undefined && dateOf(state.newest.time.startUnixNano).getTime() > (run.endedAtMs ?? 0)) return;
  const c = terminal.colors;
  terminal.line();
  const [first] = run.hosts;
  if (first === undefined) {
    terminal.line('  the last orangebox run saw nothing that looks like a call of a model: no POST of JSON');
    terminal.line(
      c.dim('  traffic over HTTP/2, WebSockets or a native client is not seen; all other HTTP is recorded with:'),
    );
    terminal.line(`  ${c.cyan("ORANGEBOX_INCLUDE='*' npx orangebox run -- COMMAND")}`);
    return;
  }
  terminal.line(
    `  the last orangebox run recognised no LLM call; it talked to ${run.hosts.slice(0, 8).map(escapeLine).join(', ')}`,
  );
  terminal.line('  if one of them is a model server, record it with:');
  terminal.line(`  ${c.cyan(`ORANGEBOX_INCLUDE=${includePattern(first)} npx orangebox run -- COMMAND`)}`);
}

function includePattern(host: string): string {
  // A pattern without a slash is a host, with any port and path. An IPv6 address has brackets, which a shell would read.
  if (/^\[[0-9a-f:.]+\]/i.test(host)) return `'${host.slice(0, host.indexOf(']') + 1)}'`;
  return host.replace(/[^A-Za-z0-9.-].*$/, '');
}

function nextCommands(state: State): NextCommand[] {
  if (state.newest === undefined && state.notSampled > 0) return [['orangebox level', 'what running programs keep']];
  if (state.newest === undefined) return [['orangebox run -- node app.js', 'record a program']];
  const commands: NextCommand[] = [
    ['orangebox ls', 'the calls'],
    ['orangebox show last', 'the newest call as a conversation'],
    ['orangebox replay last', 'its answer again, offline'],
  ];
  return commands;
}

function writeNothingYet(context: CommandContext, located: Located): void {
  const { terminal } = context;
  const c = terminal.colors;
  const where = located.basis === 'ORANGEBOX_DIR' ? `at ${escapeLine(located.dir)}` : 'here';
  terminal.line(`${c.bold('orangebox')}  nothing is recorded ${where} yet`);
  terminal.line();
  terminal.line('  start your program with one extra flag, or under run, then come back:');
  terminal.line();
  terminal.line(`  ${c.cyan('node --require orangebox/register app.js')}`);
  terminal.line(`  ${c.cyan('npx orangebox run -- npm start')}`);
}
