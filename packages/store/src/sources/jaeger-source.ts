/** Jaeger's query API: v3 where there is one, and the one of its user interface, which finds spans by their tags. */
import { OrangeboxError } from '@orangebox/schema';
import { mapAll } from '../map-in-order.ts';
import { arrayOf, field, isObject, objectOf, textOf } from './foreign-json.ts';
import { spansOfJaegerTraces } from './jaeger-legacy-answer.ts';
import { FIDELITY_VALUES, selectSpans } from './orangebox-spans.ts';
import { spansOfResourceSpans } from './otlp-answer.ts';
import { searchWindows, SpanSet, type WindowAnswer } from './search-windows.ts';
import { answerError, createSourceClient, type SourceAnswer, type SourceClient } from './source-client.ts';
import { paddedTraceId } from './span-ids.ts';
import { timeBudget, type TimeBudget } from './time-budget.ts';
import type { SourceOptions, SourceSpan, SpanQuery, SpanSearch, TraceSource } from './trace-source.ts';

const TRACES_PER_REQUEST = 1000;
/** Services that are asked at most. */
const SERVICES_MAX = 200;
const CONCURRENCY = 4;

/** Opens Jaeger's query API. Nothing is asked yet. @throws OrangeboxError `OBX_SOURCE_URL`. */
export function createJaegerSource(options: SourceOptions): TraceSource {
  return new JaegerSource(createSourceClient(options), options.searchMs);
}

/** The names of services in an answer of either API; undefined when it is none. */
export function servicesOf(json: unknown): string[] | undefined {
  const body = objectOf(json);
  const list = field(body, 'services') ?? field(body, 'data');
  // Without any service Jaeger's own API says null.
  if (list === null && Object.hasOwn(body, 'data')) return [];
  return Array.isArray(list) ? list.flatMap((name) => textOf(name) ?? []) : undefined;
}

/** What a search in one service asks for. */
interface ServiceQuery {
  service: string;
  tags: Readonly<Record<string, string>>;
  limit: number;
}

class JaegerSource implements TraceSource {
  readonly kind = 'jaeger';
  readonly location: string;
  readonly #client: SourceClient;
  /** Which API finds spans by tags, once it is known. */
  #search: 'legacy' | 'snake' | 'camel' | undefined;

  readonly #searchMs: number | undefined;

  constructor(client: SourceClient, searchMs: number | undefined) {
    this.#client = client;
    this.#searchMs = searchMs;
    this.location = client.location;
  }

  async trace(traceId: string): Promise<SourceSpan[]> {
    const id = paddedTraceId(traceId);
    if (id === undefined) return [];
    const budget = timeBudget(this.#searchMs);
    const first = await this.#client.get(`/api/v3/traces/${id}`, {}, budget);
    const found = v3Spans(first);
    // A trace that v3 does not know is looked for once more: without v3 the answer is a page or a 404 too.
    if (found && found.length > 0) return found.filter((span) => span.traceId === id);
    const second = await this.#client.get(`/api/traces/${id}`, {}, budget);
    const legacy = legacySpans(second);
    if (legacy) return legacy.filter((span) => span.traceId === id);
    if (found || isUnknownTrace(first) || isUnknownTrace(second)) return [];
    throw answerError(this.location, `does not answer as Jaeger does (${second.status})`, second.text);
  }

  async search(query: SpanQuery): Promise<SpanSearch> {
    const untilUnixMs = query.untilUnixMs ?? Date.now();
    const budget = timeBudget(this.#searchMs);
    const services = query.serviceName === undefined ? await this.#services(budget) : [query.serviceName];
    const asked = services.slice(0, SERVICES_MAX);
    const tags = query.attributes === undefined ? [] : Object.entries(query.attributes);
    // Without a condition of its own the search asks for what every span of a call has, not for all that a service did.
    const conditions =
      tags.length > 0 ? [query.attributes ?? {}] : FIDELITY_VALUES.map(({ name, value }) => ({ [name]: value }));
    const limit = query.traceLimit ?? TRACES_PER_REQUEST;
    const jobs = asked.flatMap((service) => conditions.map((condition) => ({ service, tags: condition, limit })));
    const found = new SpanSet();
    const isFinal = services.length > asked.length;
    let truncated = isFinal;
    await mapAll(jobs, CONCURRENCY, async (job) => {
      const result = await searchWindows(
        { sinceUnixMs: query.sinceUnixMs, untilUnixMs, split: query.traceLimit === undefined, budget },
        async (since, until): Promise<WindowAnswer> => {
          const { spans, traces } = await this.#ask(job, since, until, budget);
          return { spans: selectSpans(spans, query), full: traces >= job.limit };
        },
      );
      found.add(result.spans);
      truncated ||= result.truncated;
    });
    return { spans: found.values(), truncated, ...(isFinal ? { isFinal } : {}) };
  }

  async #services(budget: TimeBudget): Promise<string[]> {
    for (const path of ['/api/v3/services', '/api/services']) {
      const answer = await this.#client.get(path, {}, budget);
      const services = answer.status === 200 ? servicesOf(answer.json) : undefined;
      if (services) return services;
    }
    throw answerError(this.location, 'names no services as Jaeger does');
  }

  /** One question. The API that answered the first one is asked from then on. */
  async #ask(
    job: ServiceQuery,
    since: number,
    until: number,
    budget: TimeBudget,
  ): Promise<{ spans: SourceSpan[]; traces: number }> {
    const failures: string[] = [];
    for (const form of this.#search ? [this.#search] : (['legacy', 'camel', 'snake'] as const)) {
      const answer = await this.#askIn(form, job, since, until, budget);
      const spans = form === 'legacy' ? legacySpans(answer) : v3Spans(answer);
      if (!spans) {
        failures.push(answer.text);
        continue;
      }
      this.#search = form;
      return { spans, traces: new Set(spans.map((span) => span.traceId)).size };
    }
    throw answerError(this.location, 'does not search as Jaeger does', failures.at(-1));
  }

  async #askIn(
    form: 'legacy' | 'camel' | 'snake',
    job: ServiceQuery,
    since: number,
    until: number,
    budget: TimeBudget,
  ): Promise<SourceAnswer> {
    const { service, tags, limit } = job;
    if (form === 'legacy') {
      return this.#client.get(
        '/api/traces',
        {
          service,
          tags: JSON.stringify(tags),
          start: `${Math.floor(since)}000`,
          end: `${Math.ceil(until)}000`,
          limit: String(limit),
          lookback: 'custom',
        },
        budget,
      );
    }
    const times = { min: new Date(Math.floor(since)).toISOString(), max: new Date(Math.ceil(until)).toISOString() };
    try {
      return await this.#client.get(
        '/api/v3/traces',
        form === 'camel'
          ? {
              'query.serviceName': service,
              'query.startTimeMin': times.min,
              'query.startTimeMax': times.max,
              'query.searchDepth': String(limit),
              'query.attributes': JSON.stringify(tags),
            }
          : {
              'query.service_name': service,
              'query.start_time_min': times.min,
              'query.start_time_max': times.max,
              'query.num_traces': String(limit),
            },
        budget,
      );
    } catch (error) {
      // A version that knows other parameter names may answer 500: the next form is tried.
      if (form === 'camel' && error instanceof OrangeboxError && error.code === 'OBX_SOURCE_UNREACHABLE') {
        if (/ answers 5\d\d/.test(error.message)) return { status: 500, text: error.message, json: undefined };
      }
      throw error;
    }
  }
}

/** Spans of an answer of v3, one document or several; undefined when it is none. An unknown trace has none. */
function v3Spans({ status, json }: SourceAnswer): SourceSpan[] | undefined {
  if (status !== 200) return undefined;
  const documents = Array.isArray(json) ? json : [json];
  const results = documents.map((document) => field(objectOf(document), 'result'));
  // Nothing found may be an empty object.
  if (!results.every(isObject)) return documents.length === 1 && isEmptyObject(json) ? [] : undefined;
  return results.flatMap((result) => spansOfResourceSpans(field(objectOf(result), 'resourceSpans')));
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** Spans of an answer of Jaeger's own API; undefined when it is none. */
function legacySpans({ status, json }: SourceAnswer): SourceSpan[] | undefined {
  const body = objectOf(json);
  if (status !== 200 || !Object.hasOwn(body, 'data')) return undefined;
  const data = field(body, 'data');
  return data === null || Array.isArray(data) ? spansOfJaegerTraces(data) : undefined;
}

/** Whether the API itself says that it has no such trace, in place of a server that has no such page. */
function isUnknownTrace({ status, json }: SourceAnswer): boolean {
  if (status !== 404) return false;
  const body = objectOf(json);
  return isObject(field(body, 'error')) || arrayOf(field(body, 'errors')).length > 0;
}
