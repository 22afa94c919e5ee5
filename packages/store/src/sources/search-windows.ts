/** Searching a stretch of time in parts: a backend answers with so many traces at most, and does not say that it cut. */
import { isTooLarge } from './source-client.ts';
import type { TimeBudget } from './time-budget.ts';
import type { SourceSpan, SpanSearch } from './trace-source.ts';

/** One answer of a backend. */
export interface WindowAnswer {
  spans: SourceSpan[];
  /** As many traces as were asked for: there may be more. */
  full: boolean;
}

/** How a stretch is cut. */
export interface WindowOptions {
  sinceUnixMs: number;
  untilUnixMs: number;
  /** Longest stretch that the backend takes. */
  longestMs?: number;
  /** A full answer is asked for again in two halves. */
  split: boolean;
  /** Most requests (default 128). */
  requestsMax?: number;
  /** Nothing is asked any more once it is spent. */
  budget: TimeBudget;
}

/** Shorter stretches are not halved: Jaeger and Tempo then tell traces apart by their ids only. */
const SHORTEST_MS = 1000;
/** Spans of one search that are kept in memory. */
const SPANS_MAX = 500_000;

/** Asks for the newest part first; what the bounds leave out is the oldest. */
export async function searchWindows(
  options: WindowOptions,
  ask: (sinceUnixMs: number, untilUnixMs: number) => Promise<WindowAnswer>,
): Promise<SpanSearch> {
  const stack = pieces(options);
  const found = new SpanSet();
  let truncated = (stack[0]?.[0] ?? options.sinceUnixMs) > options.sinceUnixMs;
  let left = options.requestsMax ?? 128;
  for (let window = stack.pop(); window; window = stack.pop()) {
    if (left <= 0 || found.size >= SPANS_MAX || options.budget.leftMs() <= 0)
      return { spans: found.values(), truncated: true };
    left -= 1;
    const [since, until] = window;
    const halves = options.split && until - since > SHORTEST_MS;
    let answer: WindowAnswer;
    try {
      answer = await ask(since, until);
    } catch (error) {
      // It was cut off for the sake of the whole: what came before is given.
      if (options.budget.leftMs() <= 0) return { spans: found.values(), truncated: true };
      if (!halves || !isTooLarge(error)) throw error;
      answer = { spans: [], full: true };
    }
    found.add(answer.spans);
    if (!answer.full) continue;
    if (halves) {
      const middle = Math.floor((since + until) / 2);
      stack.push([since, middle], [middle, until]);
    } else truncated = true;
  }
  return { spans: found.values(), truncated };
}

/** Most pieces of one search: of six days each they reach back a year and a half. */
const PIECES_MAX = 100;

/** Pieces no longer than the backend takes, oldest first: the last is asked first. */
function pieces({ sinceUnixMs, untilUnixMs, longestMs = Number.POSITIVE_INFINITY }: WindowOptions): [number, number][] {
  const found: [number, number][] = [];
  let until = untilUnixMs;
  while (until > sinceUnixMs && found.length < PIECES_MAX) {
    const since = Math.max(sinceUnixMs, until - longestMs);
    found.unshift([since, until]);
    until = since;
  }
  return found;
}

/** Spans by their ids: halves overlap in traces that lie across the middle, and services share traces. */
export class SpanSet {
  readonly #spans: Map<string, SourceSpan> = new Map();

  /** Adds what is not there. */
  add(spans: readonly SourceSpan[]): void {
    for (const span of spans) {
      const id = `${span.traceId}${span.spanId}`;
      if (!this.#spans.has(id)) this.#spans.set(id, span);
    }
  }

  get size(): number {
    return this.#spans.size;
  }

  /** All of them, in the order of their coming. */
  values(): SourceSpan[] {
    return [...this.#spans.values()];
  }
}
