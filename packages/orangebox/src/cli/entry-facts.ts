/** What lists say about an entry, in words. */
import { hasFailed, type StoredEntry } from '@orangebox/store';
import { shortId } from './show/header.ts';
import { escapeLine } from './text/escape.ts';

/** Model of a call, name of a tool, method and URL of another exchange. */
export function nameOf(entry: StoredEntry): string {
  if (entry.tool !== undefined) return escapeLine(`⚒ ${entry.tool.name}`);
  const model = entry.summary?.model;
  if (model !== undefined) return escapeLine(model);
  if (entry.request !== undefined)
    return escapeLine(`${entry.request.method} ${entry.request.url.replace(/^https?:\/\//, '')}`);
  return entry.summary?.operation === undefined ? '' : escapeLine(entry.summary.operation);
}

/** HTTP status and how it ended, where that was not well. */
export function outcomeOf(entry: StoredEntry): string {
  if (entry.status === 'open') return 'running';
  if (entry.tool !== undefined) return entry.tool.failed ? 'failed' : 'ok';
  const ending = entry.summary?.ending;
  const parts = [
    entry.summary?.status === undefined ? '' : String(entry.summary.status),
    ending === undefined || ending === 'complete' ? '' : ending.replaceAll('_', ' '),
    // An error frame in a stream leaves status 200 and a complete ending.
    hasFailed(entry) && (ending ?? 'complete') === 'complete' && (entry.summary?.status ?? 0) < 400 ? 'error' : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/** What became of the bytes, and why the endpoint does not want them: `exact, refused: status 413`. */
export function keptOf(entry: StoredEntry): string {
  const kept = keptHere(entry);
  return entry.quarantined === undefined ? kept : escapeLine(`${kept}, refused: ${entry.quarantined}`);
}

/** `exact`, `partial: body limit`, `promised`, `lost`, `not kept`, `so far`. */
function keptHere(entry: StoredEntry): string {
  if (entry.status === 'lost') return 'lost';
  if (entry.status === 'not_kept') return 'not kept';
  if (entry.status === 'promised') return 'promised';
  if (entry.status === 'open') return 'so far';
  return entry.fidelity.level === 'exact' ? 'exact' : `partial: ${entry.fidelity.reason.replaceAll('_', ' ')}`;
}

/** The session, a hash shortened. */
export function sessionOf(entry: StoredEntry): string {
  return entry.session === undefined ? '' : escapeLine(shortId(entry.session.id));
}

/** The call's place in its session, from 1. */
export function placeOf(entry: StoredEntry): string {
  return entry.session === undefined || entry.kind === 'tool' ? '' : String(entry.session.seq + 1);
}

/** `planner › search`. */
export function scopeOf(entry: StoredEntry): string {
  return escapeLine(entry.scope.map((frame) => frame.name).join(' › '));
}

/** Tools that the call asked for, equal ones counted. */
export function toolsOf(entry: StoredEntry): string {
  const counts = new Map<string, number>();
  for (const call of entry.summary?.toolCalls ?? []) counts.set(call.name, (counts.get(call.name) ?? 0) + 1);
  return escapeLine([...counts].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(', '));
}
