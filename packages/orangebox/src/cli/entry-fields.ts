/** A call as one line of a pipe. */
import type { StoredEntry } from '@orangebox/store';
import { keptOf, nameOf, outcomeOf, placeOf, scopeOf, toolsOf } from './entry-facts.ts';
import { escapeLine } from './text/escape.ts';
import { dateOf, millisecondsBetween } from './text/format.ts';

/** Fields of a line off a terminal, in the table's order: whole ids, ISO time, plain numbers, milliseconds. */
export function fieldsOf(entry: StoredEntry): string[] {
  const { summary } = entry;
  const firstNano = summary?.timeToFirstChunkNano;
  return [
    entry.ref,
    dateOf(entry.time.startUnixNano).toISOString(),
    entry.session === undefined ? '' : escapeLine(entry.session.id),
    placeOf(entry),
    scopeOf(entry),
    nameOf(entry),
    outcomeOf(entry),
    String(summary?.attempts ?? ''),
    String(summary?.inputTokens ?? ''),
    String(summary?.outputTokens ?? ''),
    firstNano === undefined ? '' : String(Math.round(Number(firstNano) / 1e6)),
    entry.status === 'open'
      ? ''
      : String(Math.round(millisecondsBetween(entry.time.startUnixNano, entry.time.endUnixNano))),
    toolsOf(entry),
    keptOf(entry),
  ];
}
