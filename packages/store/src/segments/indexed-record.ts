/** What an index keeps of a call, a tool execution or an exchange that no call names yet. */
import type {
  CallEndRecord,
  Chain,
  ExchangeStartRecord,
  ScopeFrame,
  SessionBasis,
  ToolRecord,
} from '@orangebox/schema';
import type { EntryFacts } from './entry-facts.ts';
import type { SeriesIndex } from './series-index.ts';

/** Place of a frame. */
export interface Place {
  /** Index of the file in its series. */
  file: number;
  offset: number;
  sizeBytes: number;
}

/** A call, tool execution or open exchange of a series. */
export interface IndexedRecord {
  series: SeriesIndex;
  type: 'call' | 'tool' | 'open';
  traceId: string;
  spanId: string;
  startUnixNano: string;
  sessionId: string | undefined;
  basis: SessionBasis | undefined;
  /** The `callEnd`, `tool` or `exchangeStart` frame. */
  place: Place;
  /** Where the first of its exchanges starts. */
  from: Place;
  exchangeIds: number[];
  attemptSpanIds?: string[];
  chain?: Chain;
  /** Some of its exchanges' records are not there. */
  incomplete: boolean;
  shipped: boolean;
  /** Why the endpoint refused it for good. */
  quarantined?: string;
  scope: ScopeFrame[];
  /** Of the first exchange. */
  request?: { method: string; url: string };
  /** What a list shows, while it is kept in memory. */
  facts?: EntryFacts;
}

/** An exchange that has begun. */
export interface OpenExchange {
  place: Place;
  start: Pick<ExchangeStartRecord, 'trace' | 'startUnixNano' | 'session' | 'scope'>;
  request: { method: string; url: string };
}

/** The scope of most records: one array for all. */
const NO_SCOPE: ScopeFrame[] = [];

/** What is kept of an exchange that begins; `request` is shared among equal ones. */
export function openExchange(
  record: ExchangeStartRecord,
  place: Place,
  request: OpenExchange['request'],
): OpenExchange {
  return {
    place,
    start: {
      trace: record.trace,
      startUnixNano: record.startUnixNano,
      scope: record.scope.length === 0 ? NO_SCOPE : record.scope,
      ...(record.session ? { session: record.session } : {}),
    },
    request,
  };
}

/** A call that ended; `exchanges` are those that it names, undefined where their start is not on record. */
export function indexedCall(
  series: SeriesIndex,
  record: CallEndRecord,
  place: Place,
  exchanges: readonly (OpenExchange | undefined)[],
): IndexedRecord {
  const known = exchanges.filter((exchange) => exchange !== undefined);
  const first = known[0];
  return {
    series,
    type: 'call',
    traceId: record.trace.traceId,
    spanId: record.trace.spanId,
    startUnixNano: record.time.startUnixNano,
    sessionId: record.session?.id,
    basis: record.session?.basis,
    place,
    from: known.reduce((from, exchange) => (before(exchange.place, from) ? exchange.place : from), place),
    exchangeIds: record.exchangeIds,
    ...(record.attemptSpanIds ? { attemptSpanIds: record.attemptSpanIds } : {}),
    ...(record.chain ? { chain: record.chain } : {}),
    incomplete: known.length < exchanges.length,
    shipped: false,
    scope: first?.start.scope ?? NO_SCOPE,
    ...(first ? { request: first.request } : {}),
  };
}

/** A tool execution. */
export function indexedTool(series: SeriesIndex, record: ToolRecord, place: Place): IndexedRecord {
  return {
    series,
    type: 'tool',
    traceId: record.trace.traceId,
    spanId: record.trace.spanId,
    startUnixNano: record.time.startUnixNano,
    sessionId: record.session?.id,
    basis: record.session?.basis,
    place,
    from: place,
    exchangeIds: [],
    incomplete: false,
    shipped: false,
    scope: NO_SCOPE,
  };
}

/** An exchange that no call names: open in a live process, crashed in a dead one. */
export function indexedOpen(series: SeriesIndex, exchangeId: number, exchange: OpenExchange): IndexedRecord {
  const { start, place, request } = exchange;
  return {
    series,
    type: 'open',
    traceId: start.trace.traceId,
    spanId: start.trace.spanId,
    startUnixNano: start.startUnixNano,
    sessionId: start.session?.id,
    basis: start.session && 'declared',
    place,
    from: place,
    exchangeIds: [exchangeId],
    incomplete: false,
    shipped: false,
    scope: start.scope,
    request,
  };
}

/** Whether one place stands before another in a series. */
function before(a: Place, b: Place): boolean {
  return a.file < b.file || (a.file === b.file && a.offset < b.offset);
}
