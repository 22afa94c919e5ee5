/**
 * Records to snapshots: the one place where snapshots are made. The recorder calls it with the records it just wrote
 * and a reader with those it read, so both get the same document and the same digest.
 */
import {
  type Body,
  type CallEndRecord,
  type Exchange,
  type Fidelity,
  type ProcessInfo,
  type Redaction,
  SNAPSHOT_SCHEMA,
  type Snapshot,
  type ToolRecord,
} from '@orangebox/schema';
import { assembleExchange, type BodyBytes } from './assemble-exchange.ts';
import { decodeBody } from './body.ts';
import { digestWith } from './digest.ts';
import type { Sha256 } from './hash.ts';
import type { LargeBody } from './large-body.ts';
import type { ExchangeRecords } from './records.ts';

/** What a `callEnd` record says that goes into the snapshot. A whole record may be given. */
export type CallFacts = Omit<CallEndRecord, 'type' | 'digest' | 'key' | 'sizeBytes' | 'summary' | 'spans' | 'chain'>;

/** What a `tool` record says that goes into the snapshot. A whole record may be given. */
export type ToolFacts = Omit<ToolRecord, 'type' | 'digest' | 'key' | 'sizeBytes' | 'spans'>;

/** A call to assemble. */
export interface CallInput {
  call: CallFacts;
  /** In the order of `call.exchangeIds`; those not on record any more are missing. */
  exchanges: readonly ExchangeRecords[];
  process: ProcessInfo;
  /** {@link assembleExchanges} of the very same records, where the caller needed them before. */
  assembled?: AssembledExchanges;
}

/** Exchanges of a call, with their bodies' bytes, before the ids of its attempts are known. */
export interface AssembledExchanges {
  exchanges: readonly Exchange[];
  bytes: BodyBytes;
}

/** The exchanges that records make: what views are read from before a call's facts are complete. */
export function assembleExchanges(records: readonly ExchangeRecords[]): AssembledExchanges {
  const bytes: BodyBytes = new Map();
  return { exchanges: records.map((record, attempt) => assembleExchange(record, attempt, undefined, bytes)), bytes };
}

/** The snapshot of a call that ended, digest included, without derived views. */
export function buildCallSnapshot(input: CallInput, sha256: Sha256): Snapshot {
  return buildMeasuredCall(input, sha256).snapshot;
}

/** A snapshot and the bytes of its JSON. */
export interface MeasuredSnapshot {
  snapshot: Snapshot;
  /** UTF-8 bytes that `JSON.stringify` gives for it. */
  sizeBytes: number;
  /** The large ones among its bodies, for {@link snapshotPieces}. */
  large: ReadonlyMap<Body, LargeBody>;
  /** Bytes of its bodies, for {@link snapshotJson}. */
  bodies: BodyBytes;
}

/** As {@link buildCallSnapshot}, with the size of its JSON, which need not be written for that. */
export function buildMeasuredCall(input: CallInput, sha256: Sha256): MeasuredSnapshot {
  const { call, exchanges, process } = input;
  const first = exchanges[0]?.start;
  const { exchanges: assembled, bytes } = input.assembled ?? assembleExchanges(exchanges);
  const spanIds = new Map(call.exchangeIds.map((id, i) => [id, call.attemptSpanIds?.[i]]));
  const document: Omit<Snapshot, 'digest'> = {
    schema: SNAPSHOT_SCHEMA,
    id: call.trace.spanId,
    kind: call.kind,
    trace: call.trace,
    ...(call.session ? { session: call.session } : {}),
    scope: first?.scope ?? [],
    time: call.time,
    exchanges: assembled.map((exchange, i) => {
      const spanId = spanIds.get(exchanges[i]?.start.exchangeId ?? 0);
      return spanId === undefined ? exchange : { ...exchange, spanId };
    }),
    ...(call.attemptsBasis ? { attemptsBasis: call.attemptsBasis } : {}),
    ...(call.error ? { error: call.error } : {}),
    ...(first?.callSite === undefined ? {} : { callSite: first.callSite }),
    process,
    ...(first?.metadata ? { metadata: first.metadata } : {}),
    fidelity: fidelityOf(call.fidelity, exchanges, call.exchangeIds.length),
    redactions: mergeRedactions(exchanges),
  };
  return measured(document, sha256, bytes);
}

/** The snapshot of a tool execution, digest included. */
export function buildToolSnapshot(record: ToolFacts, process: ProcessInfo, sha256: Sha256): Snapshot {
  const document: Omit<Snapshot, 'digest'> = {
    schema: SNAPSHOT_SCHEMA,
    id: record.trace.spanId,
    kind: 'tool',
    trace: record.trace,
    ...(record.session ? { session: record.session } : {}),
    scope: record.scope,
    time: record.time,
    exchanges: [],
    tool: record.tool,
    ...(record.error ? { error: record.error } : {}),
    process,
    ...(record.metadata ? { metadata: record.metadata } : {}),
    fidelity: record.fidelity,
    redactions: record.redactions,
  };
  return measured(document, sha256, new Map()).snapshot;
}

/**
 * The snapshot of an exchange that no `callEnd` names: the process died, or is still at it. Its ids are those it was
 * created with. Exact only where the exchange's own end is on record, else partial, `process_died`.
 */
export function buildCrashedCallSnapshot(exchange: ExchangeRecords, process: ProcessInfo, sha256: Sha256): Snapshot {
  const { start, end } = exchange;
  const bytes: BodyBytes = new Map();
  const assembled = assembleExchange(exchange, 0, undefined, bytes);
  const document: Omit<Snapshot, 'digest'> = {
    schema: SNAPSHOT_SCHEMA,
    id: start.trace.spanId,
    kind: start.kind,
    trace: start.trace,
    ...(start.session ? { session: { ...start.session, seq: 0, basis: 'declared' as const } } : {}),
    scope: start.scope,
    time: {
      startUnixNano: start.startUnixNano,
      endUnixNano: String(BigInt(start.startUnixNano) + BigInt(assembled.endOffsetNano)),
    },
    exchanges: [assembled],
    // A program that stopped reading saw no error.
    ...(end?.error && end.ending !== 'caller_stopped_reading' ? { error: end.error } : {}),
    ...(start.callSite === undefined ? {} : { callSite: start.callSite }),
    process,
    ...(start.metadata ? { metadata: start.metadata } : {}),
    fidelity: fidelityOf({ level: 'exact' }, [exchange], 1),
    redactions: mergeRedactions([exchange]),
  };
  return measured(document, sha256, bytes).snapshot;
}

/**
 * What can be said of a call's bytes: the recorder's own verdict where that is partial, else partial when an exchange
 * is not on record any more, has no end, or a body was cut at a limit.
 *
 * @param expected exchanges the call had.
 */
export function fidelityOf(stated: Fidelity, exchanges: readonly ExchangeRecords[], expected: number): Fidelity {
  if (stated.level === 'partial') return stated;
  if (exchanges.length < expected) return { level: 'partial', reason: 'no_storage' };
  if (exchanges.some((exchange) => !exchange.end)) return { level: 'partial', reason: 'process_died' };
  if (exchanges.some((exchange) => exchange.end?.truncated)) return { level: 'partial', reason: 'body_limit' };
  return { level: 'exact' };
}

/** Redactions of all attempts, one entry per place and token, in order of appearance. */
function mergeRedactions(exchanges: readonly ExchangeRecords[]): Redaction[] {
  const merged = new Map<string, Redaction>();
  for (const { start, requestHead, responseHead, end } of exchanges) {
    for (const record of [start, requestHead, responseHead, end]) {
      for (const redaction of record?.redactions ?? []) {
        const id = `${redaction.where}\n${redaction.token}`;
        const known = merged.get(id);
        if (known) known.count += redaction.count;
        else merged.set(id, { ...redaction });
      }
    }
  }
  return [...merged.values()];
}

const NONE_LARGE: ReadonlyMap<Body, LargeBody> = new Map();

function measured(document: Omit<Snapshot, 'digest'>, sha256: Sha256, bytes: BodyBytes): MeasuredSnapshot {
  const { digest, sizeBytes } = digestWith(document, sha256, (body) => bytes.get(body) ?? decodeBody(body));
  return { snapshot: { ...document, digest }, sizeBytes, large: largeOnes(bytes), bodies: bytes };
}

function largeOnes(bytes: BodyBytes): ReadonlyMap<Body, LargeBody> {
  let large = NONE_LARGE;
  for (const [body, content] of bytes) {
    if (!(content instanceof Uint8Array)) large = new Map([...large, [body, content]]);
  }
  return large;
}
