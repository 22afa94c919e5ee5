/** Time for a whole search: each of its requests is bounded, but a backend that always has more is asked many times. */

/** How long a search may take. */
export const SEARCH_MS = 60_000;

/** The time of one search. */
export interface TimeBudget {
  /** Milliseconds that are left, 0 at least. */
  leftMs(): number;
}

/** A budget that runs from now on. */
export function timeBudget(ms: number = SEARCH_MS): TimeBudget {
  const until = performance.now() + ms;
  return { leftMs: () => Math.max(0, until - performance.now()) };
}
