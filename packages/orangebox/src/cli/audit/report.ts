/** What an audit found, for people and as JSON. */
import type { ProcessCost } from '../../audit-probe/plan.ts';
import type { CommandContext } from '../context.ts';
import { escapeLine } from '../text/escape.ts';
import { formatBytes, formatDuration, plural } from '../text/format.ts';
import { isBelow } from './evidence.ts';
import type { Finding } from './findings.ts';
import type { Observed } from './observations.ts';
import type { Ended } from './run-audited.ts';

/** Everything of one audit. */
export interface AuditReport {
  clean: boolean;
  findings: Finding[];
  command: Ended;
  /** Where it all is, with `--keep`. */
  directory?: string;
  secrets: number;
  controls: number;
  seededCalls: number;
  /** Calls of the program that the local provider answered; undefined with `--live`. */
  programCalls: number | undefined;
  /** Files below the directory of recordings. */
  recordings: string[];
  sent: { path: string; requests: number; bytes: number }[];
  receiverPort: number;
  recordDir: string;
  observed: Observed[];
}

/** What of ours was there, each once. */
export interface Presence {
  filesWritten: string[];
  filesRead: string[];
  sockets: string[];
  patched: string[];
  methods: string[];
  listeners: string[];
  channels: string[];
  said: string[];
}

/** Sums up what the probes told. */
export function presenceOf({ observed, receiverPort, recordDir }: AuditReport): Presence {
  const sets: { [name in keyof Presence]: Set<string> } = {
    filesWritten: new Set(),
    filesRead: new Set(),
    sockets: new Set(),
    patched: new Set(),
    methods: new Set(),
    listeners: new Set(),
    channels: new Set(),
    said: new Set(),
  };
  for (const { events } of observed) {
    for (const event of events) {
      if (event.t === 'file' && !isBelow(event.path, recordDir)) sets.filesWritten.add(event.path);
      if (event.t === 'read' && !isCode(event.path) && !isBelow(event.path, recordDir)) sets.filesRead.add(event.path);
      if (event.t === 'socket') {
        const isReceiver = event.port === String(receiverPort);
        sets.sockets.add(`${event.host}:${event.port}${isReceiver ? " (the audit's receiver)" : ''}`);
      }
      if (event.t === 'patch') sets.patched.add(event.name);
      if (event.t === 'own' && event.names.length > 0) sets.methods.add(`${event.object}: ${event.names.join(', ')}`);
      if (event.t === 'listener') sets.listeners.add(event.event);
      if (event.t === 'channel') sets.channels.add(event.name);
      if (event.t === 'output') sets.said.add(event.text.trim());
    }
  }
  return Object.fromEntries(Object.entries(sets).map(([name, set]) => [name, [...set].sort()])) as unknown as Presence;
}

function isCode(path: string): boolean {
  return /[\\/](?:node_modules|dist)[\\/]/.test(path);
}

/** The report for scripts. Marks' values are in no part of it. */
export function reportJson(report: AuditReport, presence: Presence): object {
  const { observed, receiverPort: _port, recordDir: _dir, ...rest } = report;
  return {
    ...rest,
    present: presence,
    processes: observed.map(({ events: _events, ...process }) => process),
  };
}

/** The report for people. */
export function writeReport({ terminal }: CommandContext, report: AuditReport, presence: Presence): void {
  const c = terminal.colors;
  const row = (name: string, text: string): void => terminal.line(`${c.bold(name.padEnd(11))} ${escapeLine(text)}`);
  const { programCalls, sent, observed } = report;
  const own = programCalls === undefined ? 'its own provider (--live)' : plural(programCalls, 'call');
  terminal.line();
  row(
    'planted',
    `${report.secrets} secrets and ${report.controls} controls in ${plural(report.seededCalls, 'seeded call')}; the program: ${own}`,
  );
  row('recordings', `${plural(report.recordings.length, 'file')}, in its own directory`);
  row('other files', `${listOf(presence.filesWritten)} written; ${listOf(presence.filesRead)} read`);
  row('sockets', listOf(presence.sockets));
  row('sent', listOf(sent.map(({ path, requests, bytes }) => `${path} ${requests} times, ${formatBytes(bytes)}`)));
  row('patched', listOf(presence.patched));
  row('tapped', listOf(presence.methods, '; '));
  row('listeners', `${listOf(presence.listeners)}; channels ${listOf(presence.channels)}`);
  row('said', listOf(presence.said, ' | '));
  for (const { cost, seeds, argv, node, threadId, pid } of observed) {
    const name = seeds
      ? 'the seeds'
      : `${argv.slice(0, 1).join(' ') || 'node'} (${threadId === 0 ? pid : `${pid}, thread ${threadId}`})`;
    row('cost', `${name}, Node.js ${node}: ${cost ? costText(cost) : 'ended before it could be told'}`);
  }
  terminal.line();
  for (const { kind, message } of report.findings)
    terminal.line(`${c.red('✗')} ${c.bold(kind)}  ${escapeLine(message)}`);
  if (report.clean)
    terminal.line(`${c.green('✓')} no mark came out, and nothing of Orangebox is where it should not be`);
  if (report.directory !== undefined) row('kept', report.directory);
}

function listOf(items: readonly string[], between = ', '): string {
  return items.length === 0 ? 'nothing' : items.join(between);
}

function costText({ registerMs, loadMs, fileCalls, fileMs, cpuMs, cpu, recorded, timers }: ProcessCost): string {
  const percent = (part: number): string => `${Math.round((100 * part) / Math.max(1, cpu?.totalMs ?? 1))} %`;
  const share =
    cpu === undefined
      ? ''
      : `, of its JavaScript ${percent(cpu.oursMs)} Orangebox' and ${percent(cpu.probeMs)} the audit's own`;
  return [
    `${plural(recorded, 'request')} recorded`,
    `preload ${formatDuration(registerMs)}`,
    `recorder ${formatDuration(loadMs)}`,
    `${plural(fileCalls, 'file call')} ${formatDuration(fileMs)}`,
    plural(timers, 'timer'),
    `CPU ${formatDuration(cpuMs)}${share}`,
  ].join(', ');
}
