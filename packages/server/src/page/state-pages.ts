/** Pages for calls that cannot be shown: what is known, why, and what to do. */
import { OrangeboxError } from '@orangebox/schema';
import type { StoredEntry } from '@orangebox/store';
import type { Page } from './document.ts';
import { durationOf, formatNano, formatTime } from './format.ts';
import { html, type Html, marked } from './html.ts';

/** A payload of a call that ended less than this ago may still be on its way. */
const ARRIVAL_MS = 5 * 60_000;

/** Nothing of this address. */
export function noSuchPage(): Page {
  const body = html`<h1>No such page</h1>
<p>Addresses here are <code>/t/TRACE_ID</code> and <code>/t/TRACE_ID/SPAN_ID</code>, the ids in hex digits.</p>`;
  return { status: 404, title: 'No such page', body };
}

/** No store knows the trace or span. */
export function unknownPage(traceId: string, spanId: string | undefined, location: string): Page {
  const what = spanId === undefined ? 'trace' : 'span';
  const body = html`<h1>Nothing recorded for this ${what}</h1>
<table class="facts"><tr><th>trace</th><td class="mono">${traceId}</td></tr>${spanId === undefined ? undefined : html`<tr><th>span</th><td class="mono">${spanId}</td></tr>`}<tr><th>looked in</th><td class="mono">${marked(location)}</td></tr></table>
<p>Some reasons:</p>
<ul>
<li>The call ended a moment ago and its recording is on its way: load this page again in a few seconds.</li>
<li>The span is not one of Orangebox's: only spans with <code>orangebox.snapshot.key</code> have a recording.${spanId === undefined ? undefined : html` The trace may have others: <a href="/t/${traceId}">all calls of the trace</a>.`}</li>
<li>It is in another store: <code>orangebox open</code> reads ORANGEBOX_DIR, ORANGEBOX_STORE and ORANGEBOX_SOURCE, or <code>--context NAME</code>.</li>
<li>It was deleted, or never arrived: <code>orangebox doctor --since 1h</code> compares spans with recordings.</li>
</ul>`;
  return { status: 404, title: 'Nothing recorded', body };
}

/** The entry is known and its recording cannot be had. */
export function unloadablePage(entry: StoredEntry, error: OrangeboxError, nowMs: number): Page {
  const { traceId, spanId } = entry.trace;
  const isGone = /^OBX_SNAPSHOT_(?:LOST|NOT_KEPT|NOT_ARRIVED|INCOMPLETE)$/.test(error.code);
  const endedMs = Number(entry.time.endUnixNano) / 1e6;
  const isLate = isGone && entry.status !== 'lost' && entry.status !== 'not_kept' && nowMs - endedMs < ARRIVAL_MS;
  const [title, status] = isLate
    ? (['Not there yet', 503] as const)
    : entry.status === 'not_kept'
      ? (['Not kept', 404] as const)
      : isGone
        ? (['Lost', 404] as const)
        : error.code.startsWith('OBX_SNAPSHOT_')
          ? (['Damaged', 500] as const)
          : (['Not to be had', 502] as const);
  const body = html`<p class="crumbs"><a href="/t/${traceId}">trace ${traceId.slice(0, 8)}…</a> / span ${spanId}</p>
<h1>${title}</h1>
<div class="note bad"><p>${explanation(title)}</p><p class="dim">${marked(error.message)}</p>${error.hint === undefined ? undefined : html`<p class="dim">${marked(error.hint)}</p>`}</div>
${knownFacts(entry)}`;
  return { status, title, body, ...(isLate ? { refreshSeconds: 5 } : {}) };
}

/** Any other fault. */
export function faultPage(error: unknown): Page {
  const known = error instanceof OrangeboxError ? error : undefined;
  const isAway = known !== undefined && /^OBX_(?:STORE|SOURCE)_/.test(known.code);
  const body = html`<h1>${isAway ? 'The store does not answer' : 'This cannot be shown'}</h1>
<div class="note bad"><p>${known === undefined ? 'A fault of Orangebox itself; the terminal that serves this page has its words.' : marked(known.message)}</p>
${known?.hint === undefined ? undefined : html`<p class="dim">${marked(known.hint)}</p>`}</div>`;
  return { status: isAway ? 502 : 500, title: 'Fault', body };
}

function explanation(title: 'Not there yet' | 'Not kept' | 'Lost' | 'Damaged' | 'Not to be had'): string {
  switch (title) {
    case 'Not there yet':
      return 'The span is here, its recording is on its way. This page looks again every 5 seconds.';
    case 'Not kept':
      return 'Only the metadata of this call was recorded: ORANGEBOX_LEVEL=metadata, or no place to keep bodies.';
    case 'Lost':
      return 'A span promises this recording, and the store has none. orangebox doctor --since 1h tells how many are lost, and the recorder’s own directory may still have it (orangebox show there).';
    case 'Damaged':
      return 'Something stands in the store and does not verify, so it is not shown.';
    case 'Not to be had':
      return 'The store could not be asked. The call itself is known:';
  }
}

function knownFacts(entry: StoredEntry): Html {
  const { summary, request, time, session, process, error } = entry;
  const rows: [string, Html | string | undefined][] = [
    ['started', `${formatTime(time.startUnixNano)}, took ${formatNano(durationOf(time))}`],
    ['call', summary?.operation === undefined ? undefined : marked(`${summary.operation} ${summary.model ?? ''}`)],
    ['request', request === undefined ? undefined : marked(`${request.method} ${request.url}`.slice(0, 2000))],
    ['status', summary?.status === undefined ? undefined : String(summary.status)],
    ['session', session === undefined ? undefined : marked(session.id)],
    ['service', process === undefined ? undefined : marked(process.serviceName)],
    ['error', error === undefined ? undefined : marked(`${error.type}: ${error.message}`.slice(0, 2000))],
    ['key', entry.key === undefined ? undefined : html`<span class="mono">${entry.key}</span>`],
  ];
  return html`<table class="facts">${rows
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>`;
}
