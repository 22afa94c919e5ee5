/** The calls of a trace as a list. */
import { hasFailed, type StoredEntry } from '@orangebox/store';
import { callCell, outcomeCell, startedCell, tokensCell, tookCell } from './call-rows.ts';
import type { Page } from './document.ts';
import { plural } from './format.ts';
import { html, type Html } from './html.ts';

/** Calls listed. */
const LISTED_MAX = 1000;

/** The page of a trace; `entries` oldest first, never empty. */
export function tracePage(traceId: string, entries: readonly StoredEntry[]): Page {
  const tokens = (pick: (entry: StoredEntry) => number | undefined): number =>
    entries.reduce((sum, entry) => sum + (pick(entry) ?? 0), 0);
  const failed = entries.filter(hasFailed).length;
  const facts = [
    plural(entries.filter((entry) => entry.kind === 'llm').length, 'call'),
    plural(entries.filter((entry) => entry.kind === 'tool').length, 'tool run'),
    failed > 0 ? `${failed} failed` : '',
    `${tokens((entry) => entry.summary?.inputTokens).toLocaleString('en-US')} tokens in`,
    `${tokens((entry) => entry.summary?.outputTokens).toLocaleString('en-US')} out`,
  ];
  const more = entries.length - LISTED_MAX;
  const body = html`<p class="crumbs">trace</p><h1 class="mono">${traceId}</h1>
<p class="dim">${facts.filter((fact) => fact !== '').join(' · ')}</p>
<table class="list"><tr><th>started</th><th>what</th><th>outcome</th><th>took</th><th>tokens</th><th>span</th></tr>
${entries.slice(0, LISTED_MAX).map(row)}</table>
${more > 0 ? html`<p class="dim">and ${more} more: orangebox ls --trace ${traceId}</p>` : undefined}`;
  return { status: 200, title: `trace ${traceId.slice(0, 8)}`, body };
}

function row(entry: StoredEntry): Html {
  return html`<tr>${startedCell(entry)}${callCell(entry)}${outcomeCell(entry)}${tookCell(entry)}${tokensCell(entry)}<td class="mono">${entry.trace.spanId}</td></tr>`;
}
