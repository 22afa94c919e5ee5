/** A call as one line of `tail`. */
import { endedByCaller, hasFailed, type StoredEntry } from '@orangebox/store';
import { nameOf, outcomeOf, placeOf, sessionOf, toolsOf } from '../entry-facts.ts';
import { fieldsOf } from '../entry-fields.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson } from '../text/escape.ts';
import { formatCount, formatDuration, formatTime, millisecondsBetween } from '../text/format.ts';
import { cut, padEnd, padStart } from '../text/table.ts';

/** Writes it: columns on a terminal, the fields of `ls` in a pipe, JSON with `json`. */
export function writeEntry(terminal: Terminal, entry: StoredEntry, json: boolean): void {
  if (json) terminal.line(safeJson(entry));
  else if (terminal.interactive) terminal.line(columnsOf(terminal, entry));
  else terminal.line(fieldsOf(entry).join('\t'));
}

function columnsOf(terminal: Terminal, entry: StoredEntry): string {
  const c = terminal.colors;
  const running = entry.status === 'open';
  const took = running ? '' : formatDuration(millisecondsBetween(entry.time.startUnixNano, entry.time.endUnixNano));
  const { inputTokens, outputTokens } = entry.summary ?? {};
  const tokens = inputTokens === undefined ? '' : `${formatCount(inputTokens)}→${formatCount(outputTokens ?? 0)}`;
  const place = placeOf(entry);
  const paint = hasFailed(entry) ? c.red : running ? c.cyan : endedByCaller(entry) ? c.yellow : c.green;
  const fixed: [string, (text: string) => string][] = [
    [formatTime(entry.time.startUnixNano).slice(11), c.dim],
    [padEnd(entry.ref, 12), c.yellow],
    [padEnd(cut(nameOf(entry), 22), 22), entry.tool === undefined ? c.bold : c.magenta],
    [padEnd(cut(outcomeOf(entry), 12), 12), paint],
    [padStart(took, 7), String],
    [padStart(tokens, 11), c.dim],
  ];
  const used = fixed.reduce((sum, [text]) => sum + text.length + 2, 0);
  const rest = [place === '' ? sessionOf(entry) : `${sessionOf(entry)} #${place}`, toolsOf(entry)];
  const last = cut(rest.filter((part) => part !== '').join('  '), Math.max(0, terminal.width - used));
  return `${fixed.map(([text, color]) => color(text)).join('  ')}  ${c.dim(last)}`.trimEnd();
}
