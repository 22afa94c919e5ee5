/** A last look for the span of an object, by trace id, before anything is said of it. */
import type { TraceSource } from '../sources/trace-source.ts';
import { promiseOf, type Promised } from './promises.ts';

/** What the trace of an object tells. */
export type LookedUp =
  /** A span of the trace promises the key. */
  | { found: 'promise'; promised: Promised }
  /** The span is there and promises another key, or none. */
  | { found: 'span'; key: string | undefined }
  | { found: 'nothing' }
  /** Too many have been looked up. */
  | { found: 'not_asked' };

/** Traces kept, so that one trace's objects cost one question. */
const KEPT_TRACES = 256;

/** Looks traces up, each once, at most `max` of them. */
export class TraceLookup {
  readonly #source: TraceSource;
  readonly #kept: Map<string, Promise<Map<string, Promised | undefined>>> = new Map();
  #left: number;

  constructor(source: TraceSource, max: number) {
    this.#source = source;
    this.#left = max;
  }

  /** @throws OrangeboxError `OBX_SOURCE_*`. */
  async find(key: string, traceId: string, spanId: string): Promise<LookedUp> {
    let trace = this.#kept.get(traceId);
    if (trace === undefined) {
      if (this.#left <= 0) return { found: 'not_asked' };
      this.#left -= 1;
      trace = this.#ask(traceId);
      this.#kept.set(traceId, trace);
      const [oldest] = this.#kept.keys();
      if (this.#kept.size > KEPT_TRACES && oldest !== undefined) this.#kept.delete(oldest);
    }
    const spans = await trace;
    for (const promised of spans.values()) if (promised?.key === key) return { found: 'promise', promised };
    return spans.has(spanId) ? { found: 'span', key: spans.get(spanId)?.key } : { found: 'nothing' };
  }

  async #ask(traceId: string): Promise<Map<string, Promised | undefined>> {
    const spans = await this.#source.trace(traceId);
    return new Map(spans.map((span) => [span.spanId, promiseOf(span)]));
  }
}
