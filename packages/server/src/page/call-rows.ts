/** What a row of a list says of a call. */
import { hasFailed, type StoredEntry } from '@orangebox/store';
import { durationOf, formatNano, formatTime } from './format.ts';
import { html, type Html, marked } from './html.ts';

/** When it began. */
export function startedCell({ time }: StoredEntry): Html {
  return html`<td class="short">${formatTime(time.startUnixNano)}</td>`;
}

/** Operation and model, tool or request, linked to the call's page. */
export function callCell(entry: StoredEntry): Html {
  const { traceId, spanId } = entry.trace;
  return html`<td><a href="/t/${traceId}/${spanId}">${marked(nameOf(entry).slice(0, 200))}</a></td>`;
}

/** Status and ending. */
export function outcomeCell(entry: StoredEntry): Html {
  return html`<td class="${hasFailed(entry) ? 'bad' : 'ok'}">${outcomeOf(entry)}</td>`;
}

/** How long it took; nothing while it runs. */
export function tookCell(entry: StoredEntry): Html {
  return html`<td class="short">${entry.status === 'open' ? '' : formatNano(durationOf(entry.time))}</td>`;
}

/** Tokens in and out. */
export function tokensCell({ summary }: StoredEntry): Html {
  const { inputTokens, outputTokens } = summary ?? {};
  return html`<td class="short">${inputTokens === undefined ? '' : `${inputTokens} → ${outputTokens ?? '?'}`}</td>`;
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
