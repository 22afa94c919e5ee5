/** `orangebox ps`: the processes that are being recorded, and their open calls. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LEVEL_FILE, parseLevel } from '@orangebox/schema';
import { createSegmentStore, type LiveThread, type OpenCall } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { locate, nothingRecorded } from '../locate.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatAge, formatBytes, plural } from '../text/format.ts';
import { type Column, renderTable } from '../text/table.ts';

/** Options of `ps`. */
export interface PsOptions {
  json?: boolean;
}

/** Lists them. Nothing being recorded is no error. */
export async function ps(context: CommandContext, options: PsOptions): Promise<number> {
  const { terminal } = context;
  const located = locate(context);
  if (!located.exists) throw nothingRecorded(context, located);
  const store = createSegmentStore(located.dir);
  try {
    const threads = await store.live();
    const level = levelOf(located.dir);
    if (options.json === true) {
      terminal.line(safeJson({ directory: located.dir, ...(level === undefined ? {} : { level }), threads }, 2));
      return EXIT.ok;
    }
    if (threads.length === 0) {
      terminal.line(`no process is being recorded in ${escapeLine(located.dir)}`);
      terminal.line(
        terminal.colors.dim('  one shows here from its first recorded call on: orangebox run -- node app.js'),
      );
      return EXIT.ok;
    }
    // A pipe gets tab-separated fields, one line a thread and one a call.
    if (terminal.interactive) show(context, threads, level);
    else for (const thread of threads) writeFields(context, thread);
    return EXIT.ok;
  } finally {
    await store.close();
  }
}

/** What the control file says, which programs follow unless they set a level themselves. */
function levelOf(dir: string): string | undefined {
  try {
    const path = join(dir, LEVEL_FILE);
    const stat = lstatSync(path);
    // As programs take it: nothing but a small file, and no pipe that would be waited for.
    return stat.isFile() && stat.size <= 64 ? parseLevel(readFileSync(path, 'utf8').trim()) : undefined;
  } catch {
    return undefined;
  }
}

function show(context: CommandContext, threads: readonly LiveThread[], level: string | undefined): void {
  const { terminal, nowMs } = context;
  const c = terminal.colors;
  if (level !== undefined) terminal.line(`level ${level}, by the file ${LEVEL_FILE} in the directory`);
  for (const thread of threads) {
    const name = `${thread.pid}${thread.threadId === 0 ? '' : `, thread ${thread.threadId}`}`;
    const facts = [
      `on ${thread.host}`,
      `Node.js ${thread.node.replace(/^v/, '')}`,
      `since ${ageOf(thread.sinceUnixMs, nowMs)}`,
      `last written ${ageOf(thread.lastWriteUnixMs, nowMs)} ago`,
      plural(thread.endedCalls, 'ended call'),
      `${thread.openCalls.length + thread.moreOpenCalls} open`,
    ];
    terminal.line();
    terminal.line(`${c.bold(name)}  ${escapeLine(thread.serviceName)}  ${c.dim(escapeLine(facts.join(', ')))}`);
    if (thread.openCalls.length === 0) continue;
    const lines = renderTable(thread.openCalls, columns(nowMs), {
      width: terminal.width - 2,
      header: (text) => c.dim(text),
    });
    for (const line of lines) terminal.line(`  ${line}`);
    if (thread.moreOpenCalls > 0) terminal.line(c.dim(`  and ${thread.moreOpenCalls} more`));
  }
}

function columns(nowMs: number): Column<OpenCall>[] {
  return [
    { title: 'span', cell: ({ spanId }) => spanId.slice(0, 8) },
    { title: 'method', cell: ({ method }) => escapeLine(method), dropFirst: 1 },
    { title: 'host', cell: ({ url }) => escapeLine(hostOf(url)), shrinkTo: 12 },
    { title: 'model', cell: ({ model }) => escapeLine(model ?? ''), shrinkTo: 8 },
    { title: 'stage', cell: ({ stage }) => stage },
    { title: 'age', cell: ({ startUnixNano }) => formatAge(startUnixNano, nowMs), align: 'right' },
    { title: 'sent', cell: (call) => bytesOf(call.requestBytes, call), align: 'right' },
    { title: 'received', cell: (call) => bytesOf(call.responseBytes, call), align: 'right' },
    { title: 'chunks', cell: ({ responseChunks }) => String(responseChunks), align: 'right', dropFirst: 2 },
    { title: 'last', cell: ({ lastChunkUnixNano: last }) => (last ? formatAge(last, nowMs) : ''), align: 'right' },
  ];
}

function bytesOf(bytes: number, { isPartlyCounted }: OpenCall): string {
  return `${isPartlyCounted ? '≥ ' : ''}${formatBytes(bytes)}`;
}

/** Fields as `docs/cli.md` lists them. */
function writeFields({ terminal, nowMs }: CommandContext, thread: LiveThread): void {
  const { pid, threadId, host, serviceName, node, sinceUnixMs, endedCalls, openCalls, moreOpenCalls } = thread;
  const since = new Date(sinceUnixMs).toISOString();
  const line = (fields: readonly (string | number)[]): void =>
    terminal.line(fields.map((field) => escapeLine(String(field))).join('\t'));
  line(['process', pid, threadId, host, serviceName, node, since, endedCalls, openCalls.length + moreOpenCalls]);
  for (const call of openCalls) {
    const { spanId, method, url, model = '', stage, startUnixNano, requestBytes, responseBytes } = call;
    const ages = [startUnixNano, call.lastChunkUnixNano].map((at) =>
      at === undefined ? '' : millisecondsSince(at, nowMs),
    );
    line([
      'call',
      pid,
      threadId,
      spanId,
      method,
      hostOf(url),
      model,
      stage,
      ages[0] ?? '',
      requestBytes,
      responseBytes,
      ages[1] ?? '',
    ]);
  }
}

function millisecondsSince(unixNano: string, nowMs: number): number {
  return Math.max(0, nowMs - Number(BigInt(unixNano) / 1_000_000n));
}

function ageOf(unixMs: number, nowMs: number): string {
  return formatAge(`${BigInt(Math.floor(unixMs)) * 1_000_000n}`, nowMs);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
