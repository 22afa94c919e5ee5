/** What a canary is: a call that `orangebox doctor --canary` made, and nobody's own. */
import type { ListFilter } from './store.ts';

/** Session id, and service name, of canaries. */
export const CANARY_NAME = 'orangebox-canary';

/** Whether a call of this session is one. */
export function isCanary(sessionId: unknown): boolean {
  return sessionId === CANARY_NAME;
}

/** The filter of a list for a person: without canaries, unless it names the ids of what it is to list. */
export function ownCalls(filter: ListFilter): ListFilter {
  const named = [filter.sessionId, filter.traceId, filter.spanId, filter.spanIdPrefix, filter.keys];
  return named.some((ids) => ids !== undefined) ? filter : { ...filter, canaries: false };
}
