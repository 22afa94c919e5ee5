/**
 * Turns one exchange's wire events into records, in the turn they come. The request is written before the last of it goes
 * out, or at its end where the tap could not tell before; what comes back, at the end of the turn.
 */
import {
  appendAll,
  addToExchange,
  type ExchangeRecords,
  newExchangeRecords,
  type Redactor,
  SECRET_MIN_BYTES,
} from '@orangebox/codec';
import type {
  ChunkRecord,
  ErrorInfo,
  HeaderList,
  Redaction,
  ResponseHeadRecord,
  SegmentRecord,
  TraceRef,
} from '@orangebox/schema';
import { BodyRecorder } from './body-recorder.ts';
import type { RecorderConfig } from './config.ts';
import { bodyCodings } from './content-decoding.ts';
import { errorInfo } from './error-info.ts';
import { exchangeStartRecord } from './exchange-start.ts';
import type { Journal, JournalEntry } from './journal.ts';
import type { MemoryBudget, MemoryHolder } from './memory-budget.ts';
import { readExchanges } from './read-exchanges.ts';
import type { RecordOwner, RecordSink } from './record-sink.ts';
import { atOnce, measureHeld, readExchangesInBits } from './record-bits.ts';
import { addLocation, type RecordLocation } from './record-location.ts';
import type { ExchangePlan } from './recording-plan.ts';
import type { SnapshotSource } from './stored-snapshot.ts';
import type { WireEnd, WireExchange, WireExchangeStart } from './wire-events.ts';

/** What an exchange works with. */
export interface ExchangeHost {
  config: RecorderConfig;
  /** The segment. */
  sink: RecordSink;
  /** Where exchanges stand that are not decided. */
  journal: Journal;
  source: SnapshotSource;
  budget: MemoryBudget;
  redactor(): Redactor;
  /** The request went out whole: now it can be told whether it is an attempt of an earlier call. */
  onRequestKnown(exchange: ExchangeRecorder): void;
  /** The wire is done with it. */
  onEnded(exchange: ExchangeRecorder): void;
  /** All its records are made. */
  onSealed(exchange: ExchangeRecorder): void;
  onFault(code: string, error: unknown): void;
}

/** Memory that a chunk takes besides its bytes. */
const CHUNK_OVERHEAD_BYTES = 120;
/** A server may send responses of status 1xx without end. */
const MAX_INFORMATIONAL = 100;

/** The recorder of one exchange. Everything that the tap calls is guarded: nothing throws into the program. */
export class ExchangeRecorder implements WireExchange, RecordOwner, MemoryHolder, JournalEntry {
  readonly id: number;
  readonly start: WireExchangeStart;
  readonly plan: ExchangePlan;
  readonly records: ExchangeRecords;
  /** Where its records stand, in order. */
  locations: RecordLocation[] = [];
  readonly #host: ExchangeHost;
  /** Where they are written as they come; undefined: nowhere, its call will not be kept. */
  readonly #sink: RecordSink | undefined;
  readonly #redactor: Redactor;
  #request: BodyRecorder;
  #response: BodyRecorder | undefined;
  #informational: { status: number; headers: HeaderList }[] = [];
  #end:
    | { end: Omit<WireEnd, 'error'>; atNano: number; error?: { info: ErrorInfo; redactions: Redaction[] } }
    | undefined;
  /** In headers whose records have no place for them. */
  #otherRedactions: Redaction[] = [];
  #codedHeldBytes = 0;
  heldBytes = 0;
  /** Chunk bytes were let go and stand on the disk only. */
  isSpilled = false;
  /** Some record did not reach the disk. */
  isLost = false;
  /** Body bytes were given up for want of memory. */
  isMemoryLost = false;
  /** A body was left out because secrets could not be replaced within it. */
  isWithheld = false;
  isRequestKnown = false;
  /** The whole request was written down before it left. */
  #isRequestWritten = false;
  isSealed = false;

  constructor(host: ExchangeHost, id: number, start: WireExchangeStart, trace: TraceRef, plan: ExchangePlan) {
    this.#host = host;
    this.id = id;
    this.start = start;
    this.plan = plan;
    if (plan.verdict === 'open') host.journal.enter(this);
    this.#sink = plan.verdict === 'kept' ? host.sink : plan.verdict === 'open' ? host.journal.sink : undefined;
    this.#redactor = host.redactor();
    this.records = newExchangeRecords(exchangeStartRecord(id, start, trace, this.#redactor));
    this.#request = this.#body('requestChunk', []);
    host.budget.enter(this);
    this.#put(this.records.start);
  }

  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  /** How it ended, once it has. */
  get wireEnd(): Omit<WireEnd, 'error'> | undefined {
    return this.#end?.end;
  }

  /** Monotonic end, nanoseconds since its start. */
  get endNano(): number {
    return this.#end?.atNano ?? 0;
  }

  requestHead(headers: HeaderList, derivedHeaders: number[], peer?: { address: string; port: number }): void {
    this.#guard('request_head', () => {
      const clean = this.#redactor.headers(headers, 'request');
      const codings = bodyCodings(headers);
      if (codings.length > 0 && this.records.requestChunks.length === 0) {
        this.#request = this.#body('requestChunk', codings);
      }
      this.#add({
        type: 'requestHead',
        exchangeId: this.id,
        headers: clean.headers,
        ...(derivedHeaders.length > 0 ? { derivedHeaders } : {}),
        ...(peer ? { peer } : {}),
        ...(clean.redactions.length > 0 ? { redactions: clean.redactions } : {}),
      });
    });
  }

  requestChunk(bytes: Uint8Array, atNano: number, isLast = false): void {
    this.#guard('request_chunk', () => {
      if (bytes.length > 0) this.#chunks(this.#request.push(bytes, atNano, 0));
      if (!isLast || this.#isRequestWritten) return;
      this.#isRequestWritten = true;
      this.#chunks(this.#finishRequest());
      this.#sink?.flushAndSync();
    });
  }

  requestEnd(atNano: number, trailers?: HeaderList, seq?: number): void {
    this.#guard('request_end', () => {
      if (this.records.requestEnd) return;
      this.#chunks(this.#finishRequest());
      const clean = trailers && this.#otherHeaders(trailers, 'request');
      this.#add({
        type: 'requestEnd',
        exchangeId: this.id,
        offsetNano: nano(atNano),
        ...(clean ? { trailers: clean } : {}),
        ...(seq === undefined ? {} : { seq }),
      });
      if (!this.#isRequestWritten) this.#sink?.flushAndSync();
      this.#requestKnown();
    });
  }

  informational(status: number, headers: HeaderList): void {
    this.#guard('informational', () => {
      if (this.#informational.length >= MAX_INFORMATIONAL) return;
      this.#informational.push({ status, headers: this.#otherHeaders(headers, 'response') });
    });
  }

  responseHead(head: Parameters<WireExchange['responseHead']>[0]): void {
    this.#guard('response_head', () => {
      const clean = this.#redactor.headers(head.headers, 'response');
      // A server may put anything into the reason; only the short ones of the protocol are passed unseen.
      const reason =
        head.statusText.length < SECRET_MIN_BYTES
          ? { text: head.statusText, redactions: [] }
          : this.#redactor.text(head.statusText, 'response.status');
      const redactions = [...clean.redactions, ...reason.redactions];
      const record: ResponseHeadRecord = {
        type: 'responseHead',
        exchangeId: this.id,
        status: head.status,
        statusText: reason.text,
        ...(head.httpVersion === undefined ? {} : { httpVersion: head.httpVersion }),
        headers: clean.headers,
        offsetNano: nano(head.atNano),
        delivery: head.delivery,
        ...(this.#informational.length > 0 ? { informational: this.#informational } : {}),
        ...(redactions.length > 0 ? { redactions } : {}),
      };
      const codings = bodyCodings(head.headers);
      this.#response = this.#body('responseChunk', codings);
      this.#add(record);
    });
  }

  responseChunk(bytes: Uint8Array, atNano: number, delivery: number): void {
    this.#guard('response_chunk', () => {
      const body = (this.#response ??= this.#body('responseChunk', []));
      this.#chunks(body.push(bytes, atNano, delivery));
      this.#holdCoded(body.pendingBytes);
    });
  }

  end(end: WireEnd, atNano: number): void {
    this.#guard('end', () => {
      const { ending, stage, trailers, delivery } = end;
      // Set first: whatever fails below, the exchange has ended.
      this.#end = {
        end: { ending, stage, ...(trailers ? { trailers } : {}), ...(delivery === undefined ? {} : { delivery }) },
        atNano,
      };
      const error = errorInfo(end.error, end.stage, this.#redactor);
      if (error) this.#end.error = error;
      this.#chunks(this.#finishRequest());
      this.#requestKnown();
      if (!this.#response?.isCoded) this.sealSync();
      this.#host.onEnded(this);
      if (!this.isSealed) void this.#sealCoded();
    });
  }

  /** Makes the last records now: at the end, or when the process exits. */
  sealSync(): void {
    if (this.isSealed || !this.#end) return;
    const body = this.#response;
    this.#seal(body?.isCoded ? body.finishCodedSync() : (body?.finish() ?? []));
  }

  written(records: readonly SegmentRecord[], location: RecordLocation): void {
    addLocation(this.locations, location);
    if (this.isSpilled) this.#forget(records.filter(isChunk));
  }

  notWritten(): void {
    this.isLost = true;
  }

  /** Lets its bytes go: they are read back from the segment, or lost where they are not there. */
  letGo(): void {
    this.#sink?.flush();
    const chunks = [...this.records.requestChunks, ...this.records.responseChunks];
    if (this.#response?.isCoded && !this.isSealed) {
      this.#response.giveUp();
      this.#holdCoded(0);
      this.isMemoryLost = true;
    }
    if (chunks.length === 0) return;
    if (this.#sink && this.plan.keepsBodies && !this.isLost) this.isSpilled = true;
    else this.isMemoryLost = true;
    this.#forget(chunks);
  }

  /** Gives up its place in the memory budget, once its call is finished. */
  release(): void {
    this.#hold(-this.heldBytes);
    this.#host.budget.leave(this);
    this.records.requestChunks = [];
    this.records.responseChunks = [];
  }

  /** All its records with all bytes, read back where memory was short. @throws when the disk has them no more */
  whole(): ExchangeRecords {
    if (!this.isSpilled) return this.records;
    const [whole] = readExchanges(this.locations, this.#host.source.read);
    if (!whole) throw new Error('the disk has no such exchange');
    return whole;
  }

  /** As {@link whole}, but of large bodies only what a snapshot's digest needs. @throws when the disk has them no more */
  measured(): ExchangeRecords {
    if (!this.isSpilled) return measureHeld(this.records);
    const [measured] = atOnce(readExchangesInBits(this.locations, this.#host.source.readBits));
    if (!measured) throw new Error('the disk has no such exchange');
    return measured;
  }

  *wholeRecords(): Generator<SegmentRecord> {
    const { start, requestHead, requestChunks, requestEnd, responseHead, responseChunks, end } = this.whole();
    const { keepsBodies } = this.plan;
    yield start;
    if (requestHead) yield requestHead;
    if (keepsBodies) yield* requestChunks;
    if (requestEnd) yield requestEnd;
    if (responseHead) yield responseHead;
    if (keepsBodies) yield* responseChunks;
    if (end) yield end;
  }

  moved(location: RecordLocation): void {
    this.locations = [location];
  }

  /** Its call is kept: what does not stand in the segment is written there. */
  keep(): void {
    if (this.#sink === this.#host.sink) return;
    const records = [...this.wholeRecords()];
    const places: RecordLocation[] = [];
    let isLost = false;
    const owner: RecordOwner = {
      written: (_, location) => addLocation(places, location),
      notWritten: () => void (isLost = true),
    };
    for (const record of records) this.#host.sink.queue(owner, record);
    this.#host.sink.flush();
    // What did not reach the journal was still in memory, unless it had been let go.
    this.isLost = isLost || (this.isSpilled && this.isLost);
    this.locations = places;
  }

  /** Its call is not kept: readers are to pass over what stands in the segment. */
  forget(): void {
    if (this.#sink !== this.#host.sink || this.locations.length === 0) return;
    this.#host.sink.queue(undefined, { type: 'forgotten', exchangeIds: [this.id] });
  }

  async #sealCoded(): Promise<void> {
    try {
      const records = (await this.#response?.finishCoded()) ?? [];
      if (!this.isSealed) this.#seal(records);
    } catch (error) {
      this.#host.onFault('seal', error);
      this.sealSync();
    }
  }

  #seal(rest: ChunkRecord[]): void {
    const ended = this.#end;
    if (!ended) return;
    const body = this.#response;
    this.#holdCoded(0);
    this.#chunks(rest);
    const { end, atNano, error } = ended;
    if (body?.isWithheld) this.isWithheld = true;
    const truncated = {
      ...(this.#request.isTruncated || (this.isMemoryLost && !this.isSpilled) ? { request: true as const } : {}),
      ...(body?.isTruncated || (this.isMemoryLost && !this.isSpilled) ? { response: true as const } : {}),
    };
    const trailers = end.trailers && this.#otherHeaders(end.trailers, 'response');
    const redactions = [
      ...this.#request.redactions,
      ...(body?.redactions ?? []),
      ...this.#otherRedactions,
      ...(error?.redactions ?? []),
    ];
    this.isSealed = true;
    this.#add({
      type: 'exchangeEnd',
      exchangeId: this.id,
      offsetNano: nano(atNano),
      ending: end.ending,
      stage: end.stage,
      ...(error ? { error: error.info } : {}),
      ...(trailers ? { trailers } : {}),
      ...(body?.storedDecoded ? { storedDecoded: body.storedDecoded } : {}),
      ...(truncated.request || truncated.response ? { truncated } : {}),
      ...(redactions.length > 0 ? { redactions } : {}),
      ...(end.delivery === undefined ? {} : { delivery: end.delivery }),
    });
    this.#host.onSealed(this);
  }

  /** A compressed request is searched at once: it is rare, and must be on the disk before its answer comes. */
  #finishRequest(): ChunkRecord[] {
    const body = this.#request;
    if (!body.isCoded) return body.finish();
    const records = body.finishCodedSync();
    if (body.isWithheld) this.isWithheld = true;
    if (!body.storedDecoded) return records;
    // A request is stored as sent or not at all: nothing in a snapshot says that it was decoded.
    this.isWithheld = true;
    body.isTruncated = true;
    return [];
  }

  /** Trailers and the heads of 1xx responses, secrets replaced; the end of the exchange lists what was. */
  #otherHeaders(headers: HeaderList, of: 'request' | 'response'): HeaderList {
    const clean = this.#redactor.headers(headers, of);
    appendAll(this.#otherRedactions, clean.redactions);
    return clean.headers;
  }

  #requestKnown(): void {
    if (this.isRequestKnown) return;
    this.isRequestKnown = true;
    this.#host.onRequestKnown(this);
  }

  #body(type: ChunkRecord['type'], codings: string[]): BodyRecorder {
    return new BodyRecorder({
      type,
      exchangeId: this.id,
      limitBytes: this.#host.config.maxBodyBytes,
      redactor: () => this.#redactor.body(),
      codings,
    });
  }

  #chunks(records: ChunkRecord[]): void {
    for (const record of records) {
      this.#hold(record.bytes.length + CHUNK_OVERHEAD_BYTES);
      this.#add(record);
    }
  }

  #add(record: Parameters<typeof addToExchange>[1]): void {
    addToExchange(this.records, record);
    this.#put(record);
  }

  #put(record: SegmentRecord): void {
    if (!this.#sink || (isChunk(record) && !this.plan.keepsBodies)) return;
    this.#sink.queue(this, record);
  }

  #forget(chunks: readonly ChunkRecord[]): void {
    const gone = new Set(chunks);
    this.records.requestChunks = this.records.requestChunks.filter((chunk) => !gone.has(chunk));
    this.records.responseChunks = this.records.responseChunks.filter((chunk) => !gone.has(chunk));
    this.#hold(-chunks.reduce((sum, chunk) => sum + chunk.bytes.length + CHUNK_OVERHEAD_BYTES, 0));
  }

  #hold(bytes: number): void {
    this.heldBytes += bytes;
    this.#host.budget.change(bytes);
  }

  #holdCoded(bytes: number): void {
    const change = bytes - this.#codedHeldBytes;
    if (change === 0) return;
    this.#codedHeldBytes = bytes;
    this.#hold(change);
  }

  #guard(what: string, work: () => void): void {
    if (this.#end) return;
    try {
      work();
    } catch (error) {
      this.#host.onFault(what, error);
    }
  }
}

function isChunk(record: SegmentRecord): record is ChunkRecord {
  return record.type === 'requestChunk' || record.type === 'responseChunk';
}

function nano(value: number): string {
  return String(Math.max(0, Math.round(value)));
}
