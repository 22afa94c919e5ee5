/** How a listed call or tool execution went, as the program saw it. */
import type { StoredEntry } from './store.ts';

/** Whether the program itself ended the call (an abort, a `break`): nothing is wrong with it. */
export function endedByCaller(entry: StoredEntry): boolean {
  const ending = entry.summary?.ending;
  return ending === 'caller_abort' || ending === 'caller_stopped_reading';
}

/** Whether the call or tool failed. One that still runs has not, nor has one that the program ended itself. */
export function hasFailed(entry: StoredEntry): boolean {
  if (entry.status === 'open' || endedByCaller(entry)) return false;
  if (entry.tool !== undefined) return entry.tool.failed || entry.error !== undefined;
  const { status = 0, ending = 'complete' } = entry.summary ?? {};
  return entry.error !== undefined || status >= 400 || (ending !== 'complete' && ending !== 'upgraded');
}
