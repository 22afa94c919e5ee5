/** What is done with a call once it has ended, off the program's path: views, session, digest, callEnd, spans. */
import {
  type AssembledExchanges,
  assembleExchanges,
  type BodyBytes,
  buildMeasuredCall,
  type CallFacts,
  type Described,
  describeCall,
  type ExchangeRecords,
  type Redactor,
} from '@orangebox/codec';
import {
  type CallEndRecord,
  type Exchange,
  type Fidelity,
  type Snapshot,
  snapshotKey,
  type TimeSpan,
} from '@orangebox/schema';
import { exchangesForViews } from './bounded-views.ts';
import { callError, callSummary } from './call-summary.ts';
import type { OpenCall } from './call-tracker.ts';
import type { RecorderConfig } from './config.ts';
import { decodeContent } from './content-decoding.ts';
import type { ExchangeRecorder } from './exchange-recorder.ts';
import { joinedHeader } from './joined-header.ts';
import { callSpanFacts, isFailed, type SpanContentOptions } from './otel/span-content.ts';
import { callSpanRecords } from './otel/span-record.ts';
import type { RecordSink } from './record-sink.ts';
import { redactJson } from './redact-json.ts';
import { measureHeld } from './record-bits.ts';
import type { RecordLocation } from './record-location.ts';
import { isKept } from './sampling-policy.ts';
import type { Journal } from './journal.ts';
import type { SessionBook, SessionPlace } from './sessions.ts';
import { sha256Hex } from './sha256.ts';
import { type PayloadOnSpan, withPayload } from './payload-on-span.ts';
import { type CallSpanFacts, type CallSpans, type SpanHandle, spansByOf } from './spans.ts';
import type { SnapshotSource } from './stored-snapshot.ts';
import type { ToolRecorder } from './tools.ts';

/** What the finaliser works with. */
export interface FinaliserHost {
  config: RecorderConfig;
  source: SnapshotSource;
  sink: RecordSink;
  journal: Journal;
  sessions: SessionBook;
  tools: ToolRecorder;
  spans: CallSpans;
  spanContent: SpanContentOptions;
  redactor(): Redactor;
  /** Writes a callEnd; undefined when it is not on the disk. */
  writeCallEnd(record: CallEndRecord): RecordLocation | undefined;
  /** A snapshot stands in the segment under its key. */
  onStored(end: StoredCall, location: RecordLocation, exchanges: RecordLocation[]): void;
  /** Ends the span of such a snapshot: at once, or when its payload is ready. */
  endStored(stored: StoredCall, place: StoredPlace, span: SpanHandle, end: (payload: PayloadOnSpan) => void): void;
  /** Every call that ended, with what stands on its span; `isWritten`: the segment has its end. */
  onEnded(ended: EndedSpan, isWritten: boolean): void;
}

/** Where the records of a stored call are. */
export interface StoredPlace {
  location: RecordLocation;
  exchanges: RecordLocation[];
}

/** What is measured of a call. */
export interface EndedSpan {
  kind: 'llm' | 'http';
  facts: CallSpanFacts;
  nested: boolean;
  /** It was to be written; a call that sampling or the level lets go was not. */
  isKept: boolean;
}

/** A call's snapshot and the record of its end. */
export interface StoredCall {
  record: CallEndRecord;
  snapshot: Snapshot;
  /** Bytes of its bodies. */
  bodies: BodyBytes;
}

const NOT_STORED: Fidelity = { level: 'partial', reason: 'no_storage' };
const NOT_SAMPLED: Fidelity = { level: 'partial', reason: 'not_sampled' };

/** Finishes one call, all at once. */
export function finaliseCall(call: OpenCall & { declaredSeq?: number }, host: FinaliserHost): void {
  const { exchanges } = call;
  const first = exchanges[0];
  const last = exchanges.at(-1);
  if (!first || !last) return;
  host.journal.sink.flush();
  host.sink.flush();
  try {
    const records = exchanges.map(measuredRecords);
    const time = timeOf(first, last);
    const kind = first.start.kind;
    const assembled = assembleExchanges(records);
    const views =
      kind === 'llm'
        ? cleanViews(describeCall({ exchanges: exchangesForViews(assembled) }, decodeContent), last, host)
        : undefined;
    const place = host.sessions.place({
      ...(first.records.start.session ? { declared: first.records.start.session } : {}),
      ...(call.declaredSeq === undefined ? {} : { declaredSeq: call.declaredSeq }),
      ...(views ? { views } : {}),
      place: first.start.context.place,
      url: first.records.start.url,
      traceId: call.span.settled ? call.span.trace.traceId : undefined,
    });
    const attempts = exchanges.length > 1 ? exchanges : [];
    const settled = host.spans.settle(call.span, {
      ...(place.first ? { parent: place.first } : {}),
      attempts: attempts.map((e) => ({ startUnixNano: e.start.startUnixNano, name: e.start.method })),
    });
    place.settled(settled.trace);
    const error = callError(last.records, views);
    const kept =
      !host.config.keepsFiles ||
      isKept(first.plan.sample, {
        traceId: settled.trace.traceId,
        route: first.start.context.inbound?.route,
        metadata: first.start.context.session?.metadata,
        model: views?.call.requestModel,
        isError: isFailed(error, assembled.exchanges.at(-1), views?.response),
        durationMs: Number(BigInt(time.endUnixNano) - BigInt(time.startUnixNano)) / 1e6,
      });
    if (kept) for (const exchange of exchanges) keep(exchange);
    else for (const exchange of exchanges) exchange.forget();
    const facts: CallFacts = {
      ...draftFacts(call, time),
      trace: settled.trace,
      ...(attempts.length > 0 ? { attemptSpanIds: settled.attemptSpanIds } : {}),
      ...(place.session ? { session: place.session } : {}),
      ...(error ? { error } : {}),
      fidelity: kept ? fidelityOf(exchanges, host) : NOT_SAMPLED,
    };
    const input: EndInput = exchanges.every((e) => e.plan.keepsBodies)
      ? { call, facts, records, assembled, views, place, seen: assembled.exchanges }
      : { call, facts, records: asWritten(records, exchanges), views, place, seen: assembled.exchanges };
    let end = makeEnd(input, host);
    const location = kept ? host.writeCallEnd(end.record) : undefined;
    if (!location && end.record.key !== undefined) end = makeEnd(withoutStorage(input), host);
    const nested = call.span.nested;
    if (location && end.record.key !== undefined) {
      const stored = { location, exchanges: exchanges.flatMap((e) => e.locations) };
      host.endStored(end, stored, call.span, endOfSpan(call.span, end.spanFacts, host.spans));
      host.onStored(end, stored.location, stored.exchanges);
    } else {
      host.spans.end(call.span, end.spanFacts);
    }
    host.onEnded({ kind, facts: end.spanFacts, nested, isKept: kept }, location !== undefined);
    if (views) noteTools(call, end.record, views, host);
  } finally {
    host.journal.leave(exchanges);
    for (const exchange of exchanges) exchange.release();
  }
}

function keep(exchange: ExchangeRecorder): void {
  try {
    exchange.keep();
  } catch {
    // What had been let go can't be read back.
    exchange.isLost = true;
  }
}

/** A function of its own, so that what waits to be called holds nothing else of the call. */
function endOfSpan(span: SpanHandle, facts: CallSpanFacts, spans: CallSpans): (payload: PayloadOnSpan) => void {
  return (payload) => spans.end(span, withPayload(facts, payload));
}

interface EndInput {
  call: OpenCall;
  facts: CallFacts;
  records: ExchangeRecords[];
  views: Described | undefined;
  place: SessionPlace;
  /** Exchanges of {@link EndInput.records}, where they are at hand. */
  assembled?: AssembledExchanges;
  /** Exchanges as they were seen, with bodies that may not be kept. */
  seen: readonly Exchange[];
}

/** An answer in pieces may spell what none of them holds. */
function cleanViews(views: Described, last: ExchangeRecorder, host: FinaliserHost): Described | undefined {
  const type = joinedHeader(last.records.responseHead?.headers, 'content-type') ?? '';
  const isWhole = /^application\/json\b/i.test(type) && !views.call.stream;
  return isWhole ? views : redactJson(views, host.redactor(), 'response.body').value;
}

/** The records of an exchange, or those of them that are to be had; large bodies without their bytes. */
function measuredRecords(exchange: ExchangeRecorder): ExchangeRecords {
  try {
    return exchange.measured();
  } catch {
    exchange.isLost = true;
    return measureHeld(exchange.records);
  }
}

/** Without the bodies of exchanges that began at a level that keeps none. */
function asWritten(records: readonly ExchangeRecords[], exchanges: readonly ExchangeRecorder[]): ExchangeRecords[] {
  return records.map((given, i) => {
    if (exchanges[i]?.plan.keepsBodies === true) return given;
    const { large: _, ...rest } = given;
    return { ...rest, requestChunks: [], responseChunks: [] };
  });
}

function timeOf(first: ExchangeRecorder, last: ExchangeRecorder): TimeSpan {
  return {
    startUnixNano: String(first.start.startUnixNano),
    endUnixNano: String(last.start.startUnixNano + BigInt(Math.max(0, Math.round(last.endNano)))),
  };
}

function draftFacts(call: OpenCall, time: TimeSpan): CallFacts {
  return {
    kind: call.exchanges[0]?.start.kind ?? 'http',
    exchangeIds: call.exchanges.map((exchange) => exchange.id),
    ...(call.basis ? { attemptsBasis: call.basis } : {}),
    trace: call.span.trace,
    time,
    fidelity: { level: 'exact' },
  };
}

function fidelityOf(exchanges: readonly ExchangeRecorder[], host: FinaliserHost): Fidelity {
  if (!host.config.keepsFiles || exchanges.some((e) => e.isLost || !e.plan.keepsBodies)) return NOT_STORED;
  if (exchanges.some((e) => e.isWithheld)) return { level: 'partial', reason: 'content_redacted' };
  if (exchanges.some((e) => e.isMemoryLost)) return { level: 'partial', reason: 'memory_limit' };
  return { level: 'exact' };
}

function withoutStorage(input: EndInput): EndInput {
  return { ...input, facts: { ...input.facts, fidelity: NOT_STORED } };
}

/** Digest, key, span and record of a call, from facts that will not change any more. */
function makeEnd(input: EndInput, host: FinaliserHost): StoredCall & { spanFacts: CallSpanFacts } {
  const { facts, records, views, place, call } = input;
  const { chain } = place;
  const {
    snapshot,
    sizeBytes: bareBytes,
    bodies,
  } = buildMeasuredCall(
    {
      call: facts,
      exchanges: records,
      process: host.source.process,
      ...(input.assembled ? { assembled: input.assembled } : {}),
    },
    sha256Hex,
  );
  const { fidelity } = snapshot;
  const isPromised =
    fidelity.level === 'exact' || (fidelity.reason !== 'no_storage' && fidelity.reason !== 'not_sampled');
  const key = isPromised ? snapshotKey(snapshot) : undefined;
  const sizeBytes = bareBytes + (chain ? `,"chain":${JSON.stringify(chain)}`.length : 0);
  const content = { snapshot, sizeBytes, ...(key === undefined ? {} : { key }), ...(views ? { views } : {}) };
  const spanFacts = callSpanFacts(
    { ...content, nested: call.span.nested, attemptSpanIds: facts.attemptSpanIds ?? [] },
    host.spanContent,
  );
  const record: CallEndRecord = {
    type: 'callEnd',
    ...facts,
    fidelity,
    ...(chain ? { chain } : {}),
    digest: snapshot.digest,
    ...(key === undefined ? {} : { key }),
    sizeBytes,
    summary: callSummary(input.seen, facts.time, views),
    spans: callSpanRecords(spanFacts, facts.trace, call.span.nested),
    ...spansByOf(host.spans, call.span),
  };
  return { record, snapshot: chain ? { ...snapshot, chain } : snapshot, bodies, spanFacts };
}

function noteTools(call: OpenCall, record: CallEndRecord, views: Described, host: FinaliserHost): void {
  const first = call.exchanges[0];
  if (!first) return;
  const { scope, metadata } = first.records.start;
  host.tools.callEnded({
    request: views.request,
    startUnixNano: first.start.startUnixNano,
    session: record.session,
    metadata,
    plan: first.plan,
    context: first.start.context,
    toolCalls: views.response.toolCalls,
    asking: {
      trace: record.trace,
      session: record.session,
      scope,
      model: views.call.requestModel,
      endUnixNano: BigInt(record.time.endUnixNano),
    },
  });
}
