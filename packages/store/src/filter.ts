/** Which entries a filter takes. */
import { decodeBody, headerOf } from '@orangebox/codec';
import type { Snapshot } from '@orangebox/schema';
import { isCanary } from './canary.ts';
import { decodeContent } from './decode-content.ts';
import { hasFailed } from './outcome.ts';
import type { ListFilter, StoredEntry } from './store.ts';

/** Facts that are known before an entry is read. */
export interface CoarseFacts {
  startUnixNano: string;
  traceId: string;
  spanId: string;
  sessionId?: string | undefined;
}

/** Unix milliseconds of a decimal nanosecond string. A whole millisecond stays one: as one number, nanoseconds are rounded. */
export function unixMs(nano: string): number {
  return Number(nano.slice(0, -6)) + Number(nano.slice(-6)) / 1e6;
}

/** Orders by start; entries of one time keep their order. */
export function compareStarts(a: { startUnixNano: string }, b: { startUnixNano: string }): number {
  if (a.startUnixNano.length !== b.startUnixNano.length) return a.startUnixNano.length - b.startUnixNano.length;
  return a.startUnixNano < b.startUnixNano ? -1 : a.startUnixNano > b.startUnixNano ? 1 : 0;
}

/** Whether the filter asks for anything at all but order and number; leaving canaries out is no choice. */
export function isSelective(filter: ListFilter): boolean {
  const { order: _order, limit: _limit, canaries: _canaries, ...conditions } = filter;
  return Object.values(conditions).some((value) => value !== undefined);
}

/** Whether a UTC day can hold starts within the filter's times. */
export function dayMayMatch(date: string, filter: Pick<ListFilter, 'sinceUnixMs' | 'untilUnixMs'>): boolean {
  const from = Date.UTC(+date.slice(0, 4), +date.slice(4, 6) - 1, +date.slice(6, 8));
  if (filter.sinceUnixMs !== undefined && from + 86_400_000 <= filter.sinceUnixMs) return false;
  return filter.untilUnixMs === undefined || from < filter.untilUnixMs;
}

/** The conditions that need no reading. */
export function passesCoarse(facts: CoarseFacts, filter: ListFilter): boolean {
  if (filter.spanIdPrefix !== undefined && !facts.spanId.startsWith(filter.spanIdPrefix)) return false;
  if (filter.traceId !== undefined && facts.traceId !== filter.traceId) return false;
  if (filter.sinceUnixMs !== undefined && unixMs(facts.startUnixNano) < filter.sinceUnixMs) return false;
  if (filter.untilUnixMs !== undefined && unixMs(facts.startUnixNano) >= filter.untilUnixMs) return false;
  return true;
}

/** The conditions that the entry itself answers; `text` is not among them. */
export function passesEntry(entry: StoredEntry, filter: ListFilter): boolean {
  if (filter.kinds && !filter.kinds.includes(entry.kind)) return false;
  if (filter.canaries === false && isCanary(entry.session?.id)) return false;
  if (filter.sessionId !== undefined && entry.session?.id !== filter.sessionId) return false;
  if (filter.userId !== undefined && entry.session?.userId !== filter.userId) return false;
  if (filter.spanId !== undefined && !spanIdsOf(entry).includes(filter.spanId)) return false;
  if (filter.keys && (entry.key === undefined || !filter.keys.includes(entry.key))) return false;
  if (filter.model !== undefined && !contains(entry.summary?.model, filter.model)) return false;
  if (filter.tool !== undefined && !toolsOf(entry).includes(filter.tool)) return false;
  if (filter.scope !== undefined && !entry.scope.some((frame) => frame.name === filter.scope)) return false;
  return filter.status === undefined || passesStatus(entry, filter.status);
}

/** Span ids that name the entry: its own and its attempts'. */
export function spanIdsOf(entry: StoredEntry): string[] {
  return [entry.trace.spanId, ...(entry.attemptSpanIds ?? [])];
}

function contains(text: string | undefined, part: string): boolean {
  return text?.toLowerCase().includes(part.toLowerCase()) ?? false;
}

function toolsOf(entry: StoredEntry): string[] {
  return [...(entry.tool ? [entry.tool.name] : []), ...(entry.summary?.toolCalls ?? []).map((call) => call.name)];
}

function passesStatus(entry: StoredEntry, wanted: string): boolean {
  const http = entry.summary?.status;
  if (wanted === 'error') return hasFailed(entry);
  if (wanted === 'ok') return entry.status !== 'open' && !hasFailed(entry);
  if (/^[1-5]xx$/i.test(wanted)) return http !== undefined && String(http)[0] === wanted[0];
  if (/^\d{3}$/.test(wanted)) return http === Number(wanted);
  return entry.status === wanted || entry.summary?.ending === wanted;
}

/** Whether a text stands in the bodies of a snapshot (decoded), or in a tool's arguments or result. */
export function holdsText(snapshot: Snapshot, text: string): boolean {
  const wanted = text.toLowerCase();
  const escaped = JSON.stringify(wanted).slice(1, -1);
  const found = (value: string | undefined): boolean => {
    const lower = value?.toLowerCase();
    return lower !== undefined && (lower.includes(wanted) || lower.includes(escaped));
  };
  if (found(snapshot.tool?.name) || found(snapshot.tool?.arguments) || found(snapshot.tool?.result)) return true;
  return snapshot.exchanges.some((exchange) => {
    const request = headerOf(exchange.request.headers, 'content-encoding');
    if (found(textOf(() => decodeBody(exchange.request.body), request))) return true;
    const { response } = exchange;
    if (!response) return false;
    const encoding = response.storedDecoded ? undefined : headerOf(response.headers, 'content-encoding');
    return found(textOf(() => decodeBody(response.body), encoding));
  });
}

function textOf(read: () => Uint8Array, encoding: string | undefined): string | undefined {
  try {
    const bytes = read();
    const decoded = encoding === undefined ? bytes : (decodeContent(encoding, bytes) ?? bytes);
    return Buffer.from(decoded.buffer, decoded.byteOffset, decoded.byteLength).toString('utf8');
  } catch {
    return undefined;
  }
}
