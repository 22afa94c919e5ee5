/** Searching a trace backend from the newest calls back, for who wants only so many of them. */
import { timeBudget } from './time-budget.ts';
import type { SpanQuery, SpanSearch, TraceSource } from './trace-source.ts';

/** The newest part is this share of the whole, and each one before it so many times the last: three searches in all. */
const FIRST_SHARE = 1 / 64;
const GROWTH = 8;

/** Shorter parts would only be more requests. */
const SHORTEST_MS = 60_000;

/** What one part gave. */
export interface SearchedPart extends SpanSearch {
  /** All calls that started from here on are known now. */
  sinceUnixMs: number;
  /** It is the whole time that was asked for. */
  isLast: boolean;
}

/** Asks for the newest part of a query's time, then for longer and longer ones before it, as they are taken. */
export async function* searchBack(
  source: TraceSource,
  query: SpanQuery & { untilUnixMs: number },
): AsyncGenerator<SearchedPart, void, undefined> {
  const { sinceUnixMs: first } = query;
  const budget = timeBudget();
  let until = query.untilUnixMs;
  let width = Math.max(SHORTEST_MS, (until - first) * FIRST_SHARE);
  for (;;) {
    const sinceUnixMs = until - width * 2 <= first ? first : Math.floor(until - width);
    const isLast = sinceUnixMs === first;
    yield { ...(await source.search({ ...query, sinceUnixMs, untilUnixMs: until })), sinceUnixMs, isLast };
    if (isLast) return;
    // Each search has its own time; this is that of all of them, after which no further one begins.
    if (budget.leftMs() === 0) {
      yield { spans: [], truncated: true, sinceUnixMs: first, isLast: true };
      return;
    }
    until = sinceUnixMs;
    width *= GROWTH;
  }
}
