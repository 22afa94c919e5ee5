/** A trace backend as a store: it says which calls there were, another store has their snapshots. */
import {
  ATTR,
  HTTP_ATTR,
  INSTRUMENTATION_SCOPE,
  OrangeboxError,
  parseSnapshotKey,
  type Snapshot,
} from '@orangebox/schema';
import { unixMs } from '../filter.ts';
import { type Candidate, selectEntries } from '../listing.ts';
import { mapAll } from '../map-in-order.ts';
import { normalKey } from '../safe-fs.ts';
import { REF_MIN_LENGTH } from '../short-refs.ts';
import type { DeleteResult, ListFilter, SnapshotStore, StoredEntry, StoreProblem } from '../store.ts';
import { entryOfSpan, isEntrySpan } from './entry-of-span.ts';
import { searchBack } from './search-back.ts';
import { SpanSet } from './search-windows.ts';
import type { SourceSpan, SpanQuery, SpanSearch, TraceSource } from './trace-source.ts';

/** Windows of listings that name no time. */
const DEFAULT_WINDOW_MS = 3600_000;
const SESSION_WINDOW_MS = 7 * 24 * 3600_000;
/** A payload may be under way for this long after its call ended. */
const ARRIVAL_MS = 10 * 60_000;
const CONCURRENCY = 4;
/** Digits of a short reference where the other span ids of the time are not known: of a million two rarely share twelve. */
const LIMITED_REF_LENGTH = REF_MIN_LENGTH * 2;

/**
 * Makes a store of a trace backend and of the store that keeps the payloads. Listings without a time look at the last
 * hour, at the last seven days where they name a session; those by trace id or key need no time. Reads only. Closing it
 * closes `payloads`.
 */
export function createSourceStore(source: TraceSource, payloads?: SnapshotStore): SnapshotStore {
  return new SourceStore(source, payloads);
}

class SourceStore implements SnapshotStore {
  readonly kind = 'source';
  readonly location: string;
  readonly #source: TraceSource;
  readonly #payloads: SnapshotStore | undefined;
  #cut: 'no' | 'by number' | 'by services' = 'no';

  constructor(source: TraceSource, payloads: SnapshotStore | undefined) {
    this.#source = source;
    this.#payloads = payloads;
    this.location = source.location;
  }

  async get(key: string): Promise<Snapshot | undefined> {
    const normal = normalKey(key);
    return normal === undefined ? undefined : this.#payloads?.get(normal);
  }

  async load(entry: StoredEntry): Promise<Snapshot> {
    const { key } = entry;
    const { spanId } = entry.trace;
    if (key === undefined) {
      throw new OrangeboxError('OBX_SNAPSHOT_NOT_KEPT', `no bodies were kept for span ${spanId}`, {
        hint: 'record with ORANGEBOX_LEVEL=full and an ORANGEBOX_ENDPOINT to send payloads to',
      });
    }
    if (!this.#payloads) {
      throw new OrangeboxError(
        'OBX_STORE_NOT_CONFIGURED',
        `the snapshot of span ${spanId} is in a store that is not named`,
        {
          hint: 'set ORANGEBOX_STORE=s3://bucket/prefix (or a directory) to where payloads are kept',
        },
      );
    }
    const snapshot = await this.#payloads.get(key);
    if (snapshot) return snapshot;
    const place = this.#payloads.location;
    if (Date.now() - unixMs(entry.time.endUnixNano) < ARRIVAL_MS) {
      throw new OrangeboxError('OBX_SNAPSHOT_NOT_ARRIVED', `the snapshot of span ${spanId} is not in ${place} yet`, {
        hint: 'its call ended less than 10 minutes ago: --wait waits for it',
      });
    }
    throw new OrangeboxError(
      'OBX_SNAPSHOT_LOST',
      `the snapshot of span ${spanId} was promised, but is not in ${place}`,
      {
        hint: 'it may be unsent in the segments of its program (orangebox recover), or expired by the retention of the store',
      },
    );
  }

  put(): Promise<string> {
    return Promise.reject(this.#readOnly('keeps no snapshots'));
  }

  delete(): Promise<DeleteResult> {
    return Promise.reject(this.#readOnly('deletes nothing'));
  }

  async *list(filter: ListFilter = {}): AsyncGenerator<StoredEntry, void, undefined> {
    this.#cut = 'no';
    const isFewOfTime = filter.limit !== undefined && filter.order !== 'oldest';
    if (isFewOfTime && filter.traceId === undefined && !filter.keys) {
      yield* this.#newest(filter, filter.limit ?? 0);
      return;
    }
    const spans = await this.#spans(filter);
    yield* selectEntries(candidatesOf(spans, this.location), filter, (entry) => this.load(entry));
  }

  async #spans(filter: ListFilter): Promise<SourceSpan[]> {
    if (filter.traceId !== undefined) return this.#source.trace(filter.traceId);
    if (filter.keys) {
      const traces = new Set(filter.keys.flatMap((key) => parseSnapshotKey(key)?.traceId ?? []));
      return (await mapAll(traces, CONCURRENCY, (traceId) => this.#source.trace(traceId))).flat();
    }
    const search = await this.#source.search(queryOf(filter));
    this.#noteCut(search);
    return search.spans;
  }

  /** The newest entries. The backend knows few conditions, so it is asked further and further back until enough hold all. */
  async *#newest(filter: ListFilter, limit: number): AsyncGenerator<StoredEntry, void, undefined> {
    let left = limit;
    if (left <= 0) return;
    const found = new SpanSet();
    const looked = new Set<string>();
    for await (const part of searchBack(this.#source, queryOf(filter))) {
      this.#noteCut(part);
      found.add(part.spans);
      // Traces come whole: what began before this part may have newer ones beside it that are still to come.
      const candidates = candidatesOf(found.values(), this.location).filter(({ startUnixNano, traceId, spanId }) => {
        const id = `${traceId}${spanId}`;
        if (looked.has(id) || (!part.isLast && unixMs(startUnixNano) < part.sinceUnixMs)) return false;
        looked.add(id);
        return true;
      });
      const rest = { ...filter, limit: left };
      for await (const entry of selectEntries(candidates, rest, (given) => this.load(given))) {
        left -= 1;
        // Not all span ids of the time are known.
        yield { ...entry, ref: entry.trace.spanId.slice(0, LIMITED_REF_LENGTH) };
      }
      if (left <= 0) return;
    }
  }

  #noteCut({ truncated, isFinal }: SpanSearch): void {
    if (truncated) this.#cut = isFinal === true ? 'by services' : 'by number';
  }

  async problems(): Promise<StoreProblem[]> {
    const own = this.#cut === 'no' ? [] : [{ code: 'OBX_SOURCE_TRUNCATED' as const, ...CUT[this.#cut] }];
    const location = this.location;
    return [...own.map((problem) => ({ ...problem, location })), ...((await this.#payloads?.problems()) ?? [])];
  }

  async close(): Promise<void> {
    await this.#payloads?.close();
  }

  #readOnly(what: string): OrangeboxError {
    return new OrangeboxError('OBX_STORE_READ_ONLY', `${this.location} is a trace backend and ${what}`, {
      hint: 'name the store itself (ORANGEBOX_STORE) for that',
    });
  }
}

/** What the backend is asked for of a listing by time. */
function queryOf(filter: ListFilter): SpanQuery & { untilUnixMs: number } {
  const untilUnixMs = filter.untilUnixMs ?? Date.now();
  const windowMs = filter.sessionId === undefined ? DEFAULT_WINDOW_MS : SESSION_WINDOW_MS;
  return {
    sinceUnixMs: filter.sinceUnixMs ?? untilUnixMs - windowMs,
    untilUnixMs,
    ...(filter.sessionId === undefined ? {} : { attributes: { [ATTR.sessionId]: filter.sessionId } }),
  };
}

/** Why calls may be missing, and what can be done. */
const CUT = {
  'by number': {
    message: 'there are more calls than the trace backend gave: the oldest are missing',
    hint: 'ask for a shorter time',
  },
  'by services': {
    message: 'the trace backend has more services than are asked: calls of the others are missing',
    hint: 'a trace id finds a call of any service',
  },
} as const;

/** The calls and tool executions among spans, each with its attempts. */
function candidatesOf(spans: readonly SourceSpan[], location: string): Candidate[] {
  const calls = new Map<string, SourceSpan>();
  const children = new Map<string, SourceSpan[]>();
  const seen = new Set<string>();
  for (const span of spans) {
    const id = `${span.traceId}${span.spanId}`;
    if (isEntrySpan(span)) {
      // A span that was sent twice (a resend in inline mode) is one call.
      if (!calls.has(id)) calls.set(id, span);
    } else if (span.parentSpanId !== undefined && isAttempt(span) && !seen.has(id)) {
      const parent = `${span.traceId}${span.parentSpanId}`;
      const attempts = children.get(parent);
      if (attempts) attempts.push(span);
      else children.set(parent, [span]);
    }
    seen.add(id);
  }
  return [...calls].map(([id, span]) => {
    const attempts = (children.get(id) ?? []).sort(compareAttempts);
    return {
      startUnixNano: span.startUnixNano,
      traceId: span.traceId,
      spanId: span.spanId,
      read: async () => entryOfSpan(span, attempts, location),
    };
  });
}

/** A child of a call that says what it sent: other spans below a call (a proxy's, a library's) are of other scopes. */
function isAttempt(span: SourceSpan): boolean {
  if (Object.hasOwn(span.attributes, HTTP_ATTR.requestResendCount)) return true;
  return span.scope === INSTRUMENTATION_SCOPE && Object.hasOwn(span.attributes, HTTP_ATTR.requestMethod);
}

function compareAttempts(a: SourceSpan, b: SourceSpan): number {
  const count = (span: SourceSpan): number => Number(span.attributes[HTTP_ATTR.requestResendCount] ?? 0);
  return count(a) - count(b);
}
