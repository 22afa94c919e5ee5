/** The page at `/`: the newest calls of the places that are read, and how to reach the others. */
import { OrangeboxError } from '@orangebox/schema';
import { ownCalls, type SnapshotStore, type StoredEntry } from '@orangebox/store';
import { callCell, outcomeCell, tokensCell, tookCell } from './call-rows.ts';
import type { Page } from './document.ts';
import { formatTime } from './format.ts';
import { html, type Html, marked } from './html.ts';

/** Calls listed. */
const LISTED_MAX = 50;

/** As far back as places are asked that are searched by time only. */
const WINDOW_MS = 3_600_000;

/** The page. A place that cannot be asked is said, and is no fault: links to calls may work all the same. */
export async function startPage(store: SnapshotStore, nowMs: number): Promise<Page> {
  const { entries, fault } = await recentCalls(store, nowMs);
  const isElsewhere = /:\/\//.test(store.location);
  const body = html`<h1>Recent calls</h1>
<p class="dim">from <span class="mono">${marked(store.location)}</span>${isElsewhere ? '; places elsewhere are asked about the last hour' : ''}</p>
${fault === undefined ? undefined : html`<div class="note bad"><p>${marked(fault.message)}</p>${fault.hint === undefined ? undefined : html`<p class="dim">${marked(fault.hint)}</p>`}</div>`}
${entries.length > 0 ? tableOf(entries) : fault === undefined ? html`<p>None yet. A call is here as soon as it has ended: load this page again.</p>` : undefined}
<p class="dim">${entries.length === LISTED_MAX ? `The newest ${LISTED_MAX}; orangebox ls shows more. ` : ''}<code>/t/TRACE_ID</code> has all calls of a trace, <code>/t/TRACE_ID/SPAN_ID</code> one call. Links of that form in a trace UI lead here.</p>`;
  return { status: 200, title: 'Recent calls', body };
}

/** The newest of what is found by time everywhere, and of what a place lists without a time. */
async function recentCalls(
  store: SnapshotStore,
  nowMs: number,
): Promise<{ entries: StoredEntry[]; fault?: OrangeboxError }> {
  const found = new Map<string, StoredEntry>();
  let fault: OrangeboxError | undefined;
  for (const time of [{ sinceUnixMs: nowMs - WINDOW_MS }, {}]) {
    if (found.size >= LISTED_MAX) break;
    try {
      for await (const entry of store.list(ownCalls({ ...time, limit: LISTED_MAX }))) {
        const id = `${entry.trace.traceId}/${entry.trace.spanId}`;
        if (!found.has(id)) found.set(id, entry);
      }
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      if (error.code !== 'OBX_STORE_SINCE_REQUIRED') fault ??= error;
    }
  }
  const start = (entry: StoredEntry): bigint => BigInt(entry.time.startUnixNano);
  const sorted = [...found.values()].sort((a, b) => (start(a) < start(b) ? 1 : start(a) > start(b) ? -1 : 0));
  return { entries: sorted.slice(0, LISTED_MAX), ...(fault === undefined ? {} : { fault }) };
}

function tableOf(entries: readonly StoredEntry[]): Html {
  return html`<table class="list"><tr><th>started, UTC</th><th>session</th><th>what</th><th>outcome</th><th>tokens</th><th>took</th></tr>
${entries.map((entry) => html`<tr><td class="short">${formatTime(entry.time.startUnixNano).slice(0, 19)}</td><td>${entry.session === undefined ? '' : marked(entry.session.id, 24)}</td>${callCell(entry)}${outcomeCell(entry)}${tokensCell(entry)}${tookCell(entry)}</tr>`)}</table>`;
}
