/** The calls of a trace as a list. */
import { hasFailed, type StoredEntry } from '@orangebox/store';
import type { Page } from './document.ts';
import { durationOf, formatNano, formatTime, plural } from './format.ts';
import { html, type Html, marked } from './html.ts';

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
${entries.slice(0, LISTED_MAX).map((entry) => row(traceId, entry))}</table>
${more > 0 ? html`<p class="dim">and ${more} more: orangebox ls --trace ${traceId}</p>` : undefined}`;
  return { status: 200, title: `trace ${traceId.slice(0, 8)}`, body };
}

function row(traceId: string, entry: StoredEntry): Html {
  const { inputTokens, outputTokens } = entry.summary ?? {};
  const spanId = entry.trace.spanId;
  return html`<tr><td>${formatTime(entry.time.startUnixNano)}</td><td><a href="/t/${traceId}/${spanId}">${marked(nameOf(entry).slice(0, 200))}</a></td><td class="${hasFailed(entry) ? 'bad' : 'ok'}">${outcomeOf(entry)}</td><td>${entry.status === 'open' ? '' : formatNano(durationOf(entry.time))}</td><td>${inputTokens === undefined ? '' : `${inputTokens} → ${outputTokens ?? '?'}`}</td><td class="mono">${spanId}</td></tr>`;
}

function nameOf(entry: StoredEntry): string {
  const { summary, tool, request } = entry;
  if (tool !== undefined) return `tool ${tool.name}`;
  if (summary?.operation !== undefined) return [summary.operation, summary.model ?? ''].join(' ').trim();
  return request === undefined ? entry.kind : `${request.method} ${request.url}`;
}

function outcomeOf(entry: StoredEntry): string {
  if (entry.status === 'open') return 'running';
  if (entry.status === 'lost' || entry.status === 'not_kept') return entry.status.replace('_', ' ');
  const { status, ending } = entry.summary ?? {};
  if (entry.tool !== undefined) return entry.tool.failed ? 'failed' : 'ok';
  const how = ending === undefined || ending === 'complete' ? '' : ending.replaceAll('_', ' ');
  return [status === undefined ? '' : String(status), how].filter((part) => part !== '').join(' ');
}
