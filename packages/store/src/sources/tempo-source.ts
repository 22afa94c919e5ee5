/** Tempo's query API, also behind Grafana's data source proxy. Built against its documented answers. */
import { OrangeboxError } from '@orangebox/schema';
import { mapAll } from '../map-in-order.ts';
import { arrayOf, field, firstField, isObject, objectOf, textOf } from './foreign-json.ts';
import { selectSpans } from './orangebox-spans.ts';
import { spansOfResourceSpans } from './otlp-answer.ts';
import { searchWindows, type WindowAnswer } from './search-windows.ts';
import { answerError, createSourceClient, type SourceAnswer, type SourceClient } from './source-client.ts';
import { paddedTraceId } from './span-ids.ts';
import { timeBudget, type TimeBudget } from './time-budget.ts';
import { traceQlOf } from './trace-ql.ts';
import type { SourceOptions, SourceSpan, SpanQuery, SpanSearch, TraceSource } from './trace-source.ts';

const TRACES_PER_REQUEST = 1000;
const CONCURRENCY = 4;
/** Tempo refuses stretches over 168 hours by default; whole seconds on both sides must fit. */
const LONGEST_MS = 6 * 24 * 3600_000;
/** Traces that are fetched by id in one search, in all. */
const TRACES_MAX = 10_000;

/** Opens Tempo's query API. Nothing is asked yet. @throws OrangeboxError `OBX_SOURCE_URL`. */
export function createTempoSource(options: SourceOptions): TraceSource {
  return new TempoSource(createSourceClient(options), options.searchMs);
}

class TempoSource implements TraceSource {
  readonly kind = 'tempo';
  readonly location: string;
  readonly #client: SourceClient;
  readonly #searchMs: number | undefined;

  constructor(client: SourceClient, searchMs: number | undefined) {
    this.#client = client;
    this.#searchMs = searchMs;
    this.location = client.location;
  }

  trace(traceId: string): Promise<SourceSpan[]> {
    return this.#trace(traceId, timeBudget(this.#searchMs));
  }

  async #trace(traceId: string, budget: TimeBudget): Promise<SourceSpan[]> {
    const id = paddedTraceId(traceId);
    if (id === undefined) return [];
    const second = await this.#client.get(`/api/v2/traces/${id}`, {}, budget);
    const found = v2Spans(second);
    if (found) return found.filter((span) => span.traceId === id);
    // Older versions have v1 only; both say 404 to a trace that they do not know.
    const first = await this.#client.get(`/api/traces/${id}`, {}, budget);
    const spans = v1Spans(first);
    if (spans) return spans.filter((span) => span.traceId === id);
    if (first.status === 404) return [];
    throw answerError(this.location, `does not answer as Tempo does (${first.status})`, first.text);
  }

  async search(query: SpanQuery): Promise<SpanSearch> {
    const untilUnixMs = query.untilUnixMs ?? Date.now();
    const limit = query.traceLimit ?? TRACES_PER_REQUEST;
    const q = traceQlOf(query);
    const seen = new Set<string>();
    const budget = timeBudget(this.#searchMs);
    return searchWindows(
      {
        sinceUnixMs: query.sinceUnixMs,
        untilUnixMs,
        longestMs: LONGEST_MS,
        split: query.traceLimit === undefined,
        budget,
      },
      async (since, until): Promise<WindowAnswer> => {
        const { ids, count } = await this.#ids(q, since, until, limit, budget);
        const wanted = ids.filter((id) => !seen.has(id)).slice(0, Math.max(0, TRACES_MAX - seen.size));
        for (const id of wanted) seen.add(id);
        let isWhole = true;
        const traces = await mapAll(wanted, CONCURRENCY, async (id) => {
          try {
            if (budget.leftMs() > 0) return selectSpans(await this.#trace(id, budget), query);
          } catch (error) {
            if (budget.leftMs() > 0) throw error;
          }
          isWhole = false;
          return [];
        });
        return { spans: traces.flat(), full: !isWhole || count >= limit };
      },
    );
  }

  async #ids(
    q: string,
    since: number,
    until: number,
    limit: number,
    budget: TimeBudget,
  ): Promise<{ ids: string[]; count: number }> {
    const times = { start: String(Math.floor(since / 1000)), end: String(Math.ceil(until / 1000)) };
    const answer = await this.#client.get('/api/search', { q, ...times, limit: String(limit) }, budget);
    const body = objectOf(answer.json);
    if (answer.status !== 200 || !isSearchAnswer(answer)) {
      if (answer.status === 400) {
        throw new OrangeboxError(
          'OBX_SOURCE_ANSWER',
          answerError(this.location, 'refuses the search', answer.text).message,
          { hint: 'ask for a shorter time (--since 1h); its limits are set by its operator' },
        );
      }
      throw answerError(this.location, `does not search as Tempo does (${answer.status})`, answer.text);
    }
    const traces = arrayOf(field(body, 'traces'));
    const ids = traces.flatMap(
      (item) => paddedTraceId(textOf(firstField(objectOf(item), 'traceID', 'traceId')) ?? '') ?? [],
    );
    return { ids: [...new Set(ids)], count: traces.length };
  }
}

/** Spans of an answer of v2; undefined when it is none. An unknown trace is an empty one. */
function v2Spans({ status, json }: SourceAnswer): SourceSpan[] | undefined {
  if (status !== 200 || !isObject(json)) return undefined;
  const trace = field(json, 'trace');
  if (trace === undefined || trace === null) {
    return Object.keys(json).every((name) => ['trace', 'metrics', 'status', 'message'].includes(name)) ? [] : undefined;
  }
  return isObject(trace) ? spansOfResourceSpans(firstField(trace, 'resourceSpans', 'batches')) : undefined;
}

/** Spans of an answer of v1; undefined when it is none. */
function v1Spans({ status, json }: SourceAnswer): SourceSpan[] | undefined {
  if (status !== 200 || !isObject(json)) return undefined;
  const batches = firstField(json, 'batches', 'resourceSpans');
  if (Array.isArray(batches)) return spansOfResourceSpans(batches);
  return Object.keys(json).length === 0 ? [] : undefined;
}

/** Without hits `traces` may be missing; a page or another API has neither it nor metrics. */
function isSearchAnswer({ json }: SourceAnswer): boolean {
  return isObject(json) && (Array.isArray(field(json, 'traces')) || isObject(field(json, 'metrics')));
}
