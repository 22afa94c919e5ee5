/** The line above the calls of a session or trace. */
import { hasFailed, type ResolvedReference, type StoredEntry } from '@orangebox/store';
import { escapeLine } from '../text/escape.ts';
import { formatCount, formatDuration, formatTime, millisecondsBetween, plural } from '../text/format.ts';
import { agoText } from './header.ts';
import type { Pen } from './pen.ts';

/** Writes what the calls together were: how many, how long, how many tokens, how many failed. */
export function renderRunHeader(
  pen: Pen,
  resolved: ResolvedReference,
  entries: readonly StoredEntry[],
  nowMs: number,
): void {
  const c = pen.colors;
  const [first] = entries;
  if (first === undefined) return;
  const id = resolved.kind === 'session' ? first.session?.id : first.trace.traceId;
  const end = entries.reduce(
    (a, e) => (BigInt(e.time.endUnixNano) > BigInt(a) ? e.time.endUnixNano : a),
    first.time.endUnixNano,
  );
  const calls = entries.filter((entry) => entry.kind === 'llm').length;
  const tools = entries.filter((entry) => entry.kind === 'tool').length;
  const failed = entries.filter(hasFailed).length;
  const sum = (pick: (entry: StoredEntry) => number | undefined): number =>
    entries.reduce((total, e) => total + (pick(e) ?? 0), 0);
  const facts = [
    plural(calls, 'call'),
    tools > 0 ? plural(tools, 'tool run') : '',
    failed > 0 ? `${failed} failed` : '',
    formatDuration(millisecondsBetween(first.time.startUnixNano, end)),
    `${formatCount(sum((e) => e.summary?.inputTokens))} tokens in, ${formatCount(sum((e) => e.summary?.outputTokens))} out`,
  ];
  pen.line(`${c.bold(`${resolved.kind} ${escapeLine(id ?? '')}`)}  ${facts.filter((fact) => fact !== '').join(' · ')}`);
  pen.line(c.dim(`${formatTime(first.time.startUnixNano)} (${agoText(first.time.startUnixNano, nowMs)})`));
}
