/** Records of a segment series, sorted to the exchanges and calls they belong to. */
import {
  type CallEndRecord,
  type ChunkRecord,
  type DroppedRecord,
  type ExchangeEndRecord,
  type ExchangeStartRecord,
  type ProcessInfo,
  type QuarantinedRecord,
  type RequestEndRecord,
  type RequestHeadRecord,
  type ResponseHeadRecord,
  type SegmentEndRecord,
  type SegmentRecord,
  type ToolRecord,
  isRunRecord,
} from '@orangebox/schema';
import type { LargeBody } from './large-body.ts';

/** The records of one exchange: what a snapshot of it is made from. The recorder keeps the same for open calls. */
export interface ExchangeRecords {
  start: ExchangeStartRecord;
  requestHead?: RequestHeadRecord;
  requestChunks: ChunkRecord[];
  requestEnd?: RequestEndRecord;
  responseHead?: ResponseHeadRecord;
  responseChunks: ChunkRecord[];
  end?: ExchangeEndRecord;
  /** Bodies that are read piece by piece; the bytes of their chunk records count no more. */
  large?: { request?: LargeBody; response?: LargeBody };
}

/** The records of one series of segment files (one thread of one process). */
export interface CollectedRecords {
  /** From the first `segmentStart`; undefined when there was none. */
  process: ProcessInfo | undefined;
  exchanges: Map<number, ExchangeRecords>;
  calls: CallEndRecord[];
  tools: ToolRecord[];
  /** Keys that the endpoint acknowledged. */
  shipped: Set<string>;
  /** Keys that the endpoint refused for good. */
  quarantined: Map<string, QuarantinedRecord>;
  /** Span ids whose spans the recorder's own exporter delivered. */
  spansSent: Set<string>;
  /** Counts since the process started; the last record of a reason counts. */
  dropped: Map<string, DroppedRecord>;
  /** Exchanges that no `callEnd` and no `forgotten` names: open when the records ended. Oldest first. */
  open: ExchangeRecords[];
  /** Exchanges of which records exist but no start: it stood in a file that is gone. */
  orphans: Set<number>;
  /** The last `segmentEnd` with nothing after it. */
  closed: SegmentEndRecord | undefined;
}

/**
 * Sorts records, in file order over all files of a series, to exchanges. Where a record that may come once comes
 * twice, the first counts.
 */
export function collectRecords(records: Iterable<SegmentRecord>): CollectedRecords {
  const out: CollectedRecords = {
    process: undefined,
    exchanges: new Map(),
    calls: [],
    tools: [],
    shipped: new Set(),
    quarantined: new Map(),
    spansSent: new Set(),
    dropped: new Map(),
    open: [],
    orphans: new Set(),
    closed: undefined,
  };
  const named = new Set<number>();
  for (const record of records) {
    out.closed = undefined;
    // Read by whoever replays the run.
    if (isRunRecord(record)) continue;
    switch (record.type) {
      case 'segmentStart':
        out.process ??= record.process;
        break;
      case 'segmentEnd':
        out.closed = record;
        break;
      case 'callEnd':
        out.calls.push(record);
        for (const id of record.exchangeIds) named.add(id);
        break;
      case 'tool':
        out.tools.push(record);
        break;
      case 'shipped':
        out.shipped.add(record.key);
        break;
      case 'quarantined':
        out.quarantined.set(record.key, record);
        break;
      case 'spansSent':
        for (const id of record.spanIds) out.spansSent.add(id);
        break;
      case 'forgotten':
        for (const id of record.exchangeIds) named.add(id);
        break;
      case 'dropped':
        out.dropped.set(record.reason, record);
        break;
      case 'exchangeStart':
        if (!out.exchanges.has(record.exchangeId)) out.exchanges.set(record.exchangeId, newExchangeRecords(record));
        break;
      default: {
        const exchange = out.exchanges.get(record.exchangeId);
        if (exchange) addToExchange(exchange, record);
        else out.orphans.add(record.exchangeId);
      }
    }
  }
  for (const [id, exchange] of out.exchanges) if (!named.has(id)) out.open.push(exchange);
  return out;
}

/** An exchange that has only begun. */
export function newExchangeRecords(start: ExchangeStartRecord): ExchangeRecords {
  return { start, requestChunks: [], responseChunks: [] };
}

/** A record that belongs to an exchange, its start excepted. */
export type ExchangePartRecord =
  | RequestHeadRecord
  | ChunkRecord
  | RequestEndRecord
  | ResponseHeadRecord
  | ExchangeEndRecord;

/** Puts a record with its exchange. */
export function addToExchange(exchange: ExchangeRecords, record: ExchangePartRecord): void {
  switch (record.type) {
    case 'requestHead':
      exchange.requestHead ??= record;
      break;
    case 'requestChunk':
      exchange.requestChunks.push(record);
      break;
    case 'requestEnd':
      exchange.requestEnd ??= record;
      break;
    case 'responseHead':
      exchange.responseHead ??= record;
      break;
    case 'responseChunk':
      exchange.responseChunks.push(record);
      break;
    case 'exchangeEnd':
      exchange.end ??= record;
      break;
  }
}
