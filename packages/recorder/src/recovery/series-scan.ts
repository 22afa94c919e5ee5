/**
 * What a series says is still to be done: calls whose process died, payloads and spans that nobody acknowledged. Places
 * are kept, never bytes; a series that grows is read on from where the last look ended.
 */
import type { DecodedFrame } from '@orangebox/codec';
import {
  type CallEndRecord,
  isRunRecord,
  type ProcessInfo,
  type SegmentRecord,
  SNAPSHOT_KEY_PATTERN,
  type ToolRecord,
} from '@orangebox/schema';
import { addLocation, type RecordLocation } from '../record-location.ts';
import { scanFrames } from './record-reader.ts';
import type { Series, SeriesFile } from './series-files.ts';
import type { Steps } from './slices.ts';

/** An exchange that no call names yet. */
export interface OpenExchange {
  id: number;
  spanId: string;
  locations: RecordLocation[];
}

/** A snapshot that stands in the series under a key and was not acknowledged. */
export interface PendingPayload {
  type: 'call' | 'tool';
  key: string;
  spanId: string;
  sizeBytes: number;
  /** Of its `callEnd` or `tool` record. */
  location: RecordLocation;
  /** Of its exchanges' records. */
  exchanges: RecordLocation[];
  /** Of the file that its record stands in. */
  process: ProcessInfo | undefined;
}

/** Why the endpoint does not want a payload. */
export interface Refusal {
  reason: string;
  atUnixNano: string;
}

/** Reads a series step by step. */
export class SeriesScan {
  /** As the newest file says. */
  process: ProcessInfo | undefined;
  pidNamespace: string | undefined;
  /** All that the files said of the process, which may have grown. */
  readonly processes: ProcessInfo[] = [];
  readonly open: Map<number, OpenExchange> = new Map();
  /** By key, in the order of their records. */
  readonly pending: Map<string, PendingPayload> = new Map();
  readonly refused: Map<string, Refusal> = new Map();
  /** Records whose spans the recorder was to export and nobody acknowledged, by span id. */
  readonly unsentSpans: Map<string, RecordLocation> = new Map();
  /** Session of each conversation, by the hash that its newest call left. */
  readonly sessionByChain: Map<string, string> = new Map();
  /** Calls of each session so far. */
  readonly callsOfSession: Map<string, number> = new Map();
  /** Keys that are acknowledged. */
  shipped = 0;
  readonly #spanIds = new Set<string>();
  readonly #readTo = new Map<string, number>();

  /** Exchanges whose process died before their call ended, oldest first. */
  crashed(): OpenExchange[] {
    return [...this.open.values()].filter(({ spanId }) => !this.#spanIds.has(spanId)).sort((a, b) => a.id - b.id);
  }

  /** Calls and tools whose end is on record. */
  get endedSpanIds(): ReadonlySet<string> {
    return this.#spanIds;
  }

  /** Passes over an exchange. */
  forget(id: number): void {
    this.open.delete(id);
  }

  /** Takes in what was added since the last look. Files that are gone are passed over. */
  *read(series: Series): Steps<void> {
    for (const file of series.files) {
      const from = this.#readTo.get(file.path) ?? 0;
      if (file.sizeBytes <= from) continue;
      try {
        const end = yield* scanFrames(file.path, from, file.sizeBytes, (frame) => this.#visit(frame, file));
        if (end.version > 0) this.#readTo.set(file.path, end.wholeBytes);
      } catch {
        // No segment, one of a newer release, or gone: nothing in it can be recovered by this release.
        this.#readTo.set(file.path, file.sizeBytes);
      }
    }
  }

  /** Everything before a place counts as acknowledged. */
  passOver(n: number, offset: number): PendingPayload[] {
    const passed = [...this.pending.values()].filter(
      ({ location }) => location.n < n || (location.n === n && location.offset < offset),
    );
    for (const { key } of passed) this.settle(key);
    return passed;
  }

  /** Where reading ended. */
  endOf({ files }: Series): { n: number; offset: number } {
    const last = files.at(-1);
    return last ? { n: last.n, offset: this.#readTo.get(last.path) ?? 0 } : { n: 0, offset: 0 };
  }

  /** A payload needs nothing more. */
  settle(key: string): void {
    this.pending.delete(key);
  }

  /** Takes in a record that was just written. */
  noteCall(record: CallEndRecord, location: RecordLocation): void {
    this.#call(record, location);
  }

  #visit({ record, offset, sizeBytes }: DecodedFrame, { path, n }: SeriesFile): void {
    const location = { path, offset, sizeBytes, n };
    if (isRunRecord(record)) return;
    switch (record.type) {
      case 'segmentStart':
        this.#about(record);
        return;
      case 'exchangeStart':
        if (this.open.has(record.exchangeId)) return;
        this.open.set(record.exchangeId, {
          id: record.exchangeId,
          spanId: record.trace.spanId,
          locations: [location],
        });
        return;
      case 'callEnd':
        this.#call(record, location);
        return;
      case 'tool':
        this.#ended(record, location, []);
        return;
      case 'shipped':
        if (this.pending.delete(record.key)) this.shipped++;
        this.refused.delete(record.key);
        return;
      case 'quarantined':
        this.refused.set(record.key, { reason: record.reason, atUnixNano: record.atUnixNano });
        return;
      case 'spansSent':
        for (const id of record.spanIds) this.unsentSpans.delete(id);
        return;
      case 'forgotten':
        for (const id of record.exchangeIds) this.open.delete(id);
        return;
      case 'dropped':
      case 'segmentEnd':
        return;
      default: {
        const exchange = this.open.get(record.exchangeId);
        if (exchange) addLocation(exchange.locations, location);
      }
    }
  }

  #about({ process, pidNamespace }: Extract<SegmentRecord, { type: 'segmentStart' }>): void {
    this.process = process;
    if (pidNamespace !== undefined) this.pidNamespace = pidNamespace;
    if (!this.processes.some((known) => JSON.stringify(known) === JSON.stringify(process))) {
      this.processes.push(process);
    }
  }

  #call(record: CallEndRecord, location: RecordLocation): void {
    const exchanges: RecordLocation[] = [];
    for (const id of record.exchangeIds) {
      for (const place of this.open.get(id)?.locations ?? []) addLocation(exchanges, place);
      this.open.delete(id);
    }
    const { session, chain } = record;
    if (session) {
      this.callsOfSession.set(session.id, Math.max(this.callsOfSession.get(session.id) ?? 0, session.seq + 1));
      if (chain?.after !== undefined) this.sessionByChain.set(chain.after, session.id);
    }
    this.#ended(record, location, exchanges);
  }

  #ended(record: CallEndRecord | ToolRecord, location: RecordLocation, exchanges: RecordLocation[]): void {
    const { trace, key, sizeBytes, spansBy } = record;
    // A writer that was killed between two writes may have written a record twice; the first counts.
    if (this.#spanIds.has(trace.spanId)) return;
    this.#spanIds.add(trace.spanId);
    if (spansBy === 'orangebox' && trace.sampled) this.unsentSpans.set(trace.spanId, location);
    if (key === undefined || !SNAPSHOT_KEY_PATTERN.test(key)) return;
    const type = record.type === 'tool' ? 'tool' : 'call';
    const { process } = this;
    this.pending.set(key, { type, key, spanId: trace.spanId, sizeBytes, location, exchanges, process });
  }
}
