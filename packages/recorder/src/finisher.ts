/**
 * Everything that is done once a call has ended: views, sessions, tools, digests, spans, offers to the shipper. It needs
 * the protocol adapters, so it is loaded when the first request has left, and never before it.
 */
import { type Redactor, snapshotJson } from '@orangebox/codec';
import type { CallEndRecord, ToolRecord } from '@orangebox/schema';
import type { OpenCall } from './call-tracker.ts';
import type { RecorderConfig } from './config.ts';
import { type EndedSpan, type FinaliserHost, finaliseCall, type StoredCall } from './finaliser.ts';
import { InlinePayloads } from './inline-payloads.ts';
import type { Journal } from './journal.ts';
import { LazyShipper } from './lazy-shipper.ts';
import { LeftBehind } from './left-behind.ts';
import { semconvNames } from './otel/gen-ai-attributes.ts';
import { RecorderMetrics } from './metrics/recorder-metrics.ts';
import { recorderHealth } from './metrics/recorder-health.ts';
import type { RecordSink } from './record-sink.ts';
import type { RecordLocation } from './record-location.ts';
import type { LevelPlan } from './recording-plan.ts';
import type { SegmentWriter } from './segment-writer.ts';
import type { SessionCounts } from './session-counts.ts';
import { SessionBook } from './sessions.ts';
import { sha256Hex } from './sha256.ts';
import { nowMs } from './timers.ts';
import { isInPieces, type OpenSnapshot, type ShipItem, type ShipperHost, type ShipperStats } from './shipper.ts';
import { NotKeptCount } from './not-kept-count.ts';
import type { PayloadOnSpan } from './payload-on-span.ts';
import type { CallSpans, SpanHandle } from './spans.ts';
import { CallItem, ToolItem } from './stored-items.ts';
import {
  openCallSnapshot,
  readCallSnapshotJson,
  readToolSnapshotJson,
  type SnapshotSource,
} from './stored-snapshot.ts';
import { ToolRecorder } from './tools.ts';
import type { WrappedToolRun } from './wire-events.ts';

/** What the core gives. */
export interface FinisherHost {
  config: RecorderConfig;
  writer: SegmentWriter | undefined;
  source: SnapshotSource;
  sink: RecordSink;
  journal: Journal;
  spans: CallSpans;
  counts: SessionCounts;
  redactor(): Redactor;
  /** Calls made inside this span name it as their parent. */
  isParent(spanId: string): boolean;
  /** A call that began before this time has not been looked at yet. */
  isAnyCallOpenBefore(startUnixNano: bigint): boolean;
  report(code: string, message: string): void;
  /** Counts a fault without a word. */
  count(code: string): void;
  /** Faults so far, by code. */
  faults(): Record<string, number>;
}

/** Finishes calls and tool executions. */
export interface Finisher {
  callEnded(call: OpenCall, declaredSeq: number | undefined): void;
  toolRan(run: WrappedToolRun, plan: LevelPlan): void;
  /** Records tool executions that waited for their call; `force` leaves none. */
  settleTools(force: boolean): void;
  flush(timeoutMs: number): Promise<void>;
  /** Settles when the spans of all ended calls are ended, or after `timeoutMs`. */
  flushSpanPayloads(timeoutMs: number): Promise<void>;
  /** The same at once, since the provider will not take them later; after `untilMs` without their payloads. */
  drainSpanPayloads(untilMs: number): void;
  /** Writes down how many were not kept, where that is not on record yet. */
  tellCounts(): void;
  readonly toolCount: number;
  shipperStats(): ShipperStats | undefined;
}

/** Makes the finisher. */
export function createFinisher(host: FinisherHost): Finisher {
  return new CallFinisher(host);
}

class CallFinisher implements Finisher {
  readonly #host: FinisherHost;
  readonly #tools: ToolRecorder;
  #shipper: LazyShipper | undefined;
  #leftBehind: LeftBehind | undefined;
  #inline: InlinePayloads | undefined;
  readonly #metrics: RecorderMetrics;
  readonly #recorded: Record<string, number> = {};
  #unwritten = 0;
  readonly #notKept: NotKeptCount;
  readonly #toolLocations: WeakMap<ToolRecord, RecordLocation> = new WeakMap();
  readonly #finaliserHost: FinaliserHost;

  constructor(host: FinisherHost) {
    this.#host = host;
    const { config, counts, source, sink, journal, spans } = host;
    const spanContent = { captureContent: config.captureContent, names: semconvNames(config.otel.semconvOptIn) };
    // Where the level of the start sends nothing, they are made when another one does.
    if (config.keepsBodies) this.#shipper = this.#makeShipper();
    if (config.mode === 'inline') this.#inline = this.#makeInline();
    this.#notKept = new NotKeptCount((record) => sink.queue(undefined, record));
    // A record of our own, since no other tells what a trace endpoint has: recovery sends what it lacks.
    if (config.keepsFiles) {
      spans.onSpansSent?.((spanIds) => {
        if (spanIds.length > 0) sink.queue(undefined, { type: 'spansSent', spanIds: [...spanIds] });
      });
    }
    this.#metrics = new RecorderMetrics({
      config,
      reporter: { warn: (code, message) => host.report(code, message), count: (code) => host.count(code) },
      health: () => this.#health(),
    });
    this.#tools = new ToolRecorder({
      process: source.process,
      sha256: sha256Hex,
      spans,
      spanContent,
      redactor: () => host.redactor(),
      keepsFiles: config.keepsFiles,
      onNotKept: () => this.#notKept.add('tool'),
      write: (record) => this.#writeTool(record),
      endStored: (record, span, end) => {
        const location = this.#toolLocations.get(record);
        this.#endStored(record, span, () => this.#readTool(location), end);
      },
      isParent: (spanId) => host.isParent(spanId),
      isAnyCallOpenBefore: (nano) => host.isAnyCallOpenBefore(nano),
      seqOf: (sessionId) => counts.newestSeq(sessionId),
    });
    this.#finaliserHost = {
      config,
      source,
      sink,
      journal,
      sessions: new SessionBook(sha256Hex, counts),
      tools: this.#tools,
      spans,
      spanContent,
      redactor: () => host.redactor(),
      writeCallEnd: (record) => this.#append(record),
      onStored: (end, location, exchanges) => this.#offerCall(end, location, exchanges),
      endStored: (stored, { location, exchanges }, span, end) =>
        this.#endStored(stored.record, span, storedJson(location, exchanges, source), end, jsonNow(stored), () =>
          openCallSnapshot(location, exchanges, source),
        ),
      onEnded: (ended, isWritten) => this.#ended(ended, isWritten),
    };
  }

  get toolCount(): number {
    return this.#tools.count;
  }

  callEnded(call: OpenCall, declaredSeq: number | undefined): void {
    finaliseCall({ ...call, ...(declaredSeq === undefined ? {} : { declaredSeq }) }, this.#finaliserHost);
    this.#leftBehind?.callFinished();
  }

  toolRan(run: WrappedToolRun, plan: LevelPlan): void {
    this.#tools.ran(run, plan);
  }

  tellCounts(): void {
    this.#notKept.tell();
  }

  settleTools(force: boolean): void {
    this.#tools.settleRuns(force);
  }

  async flush(timeoutMs: number): Promise<void> {
    await Promise.all([this.#shipper?.flush(timeoutMs), this.#metrics.flush(timeoutMs)]);
  }

  async flushSpanPayloads(timeoutMs: number): Promise<void> {
    await this.#inline?.flush(timeoutMs);
  }

  drainSpanPayloads(untilMs: number): void {
    this.#inline?.drainSync(untilMs);
  }

  shipperStats(): ShipperStats | undefined {
    return (this.#shipper ?? this.#inline)?.stats();
  }

  #makeShipper(): LazyShipper | undefined {
    const { config } = this.#host;
    if (config.endpoint === undefined) return undefined;
    const shipper = new LazyShipper(config, this.#shipperHost());
    const { writer } = this.#host;
    this.#leftBehind = new LeftBehind({
      config,
      shipper,
      ownSeries: () => (writer === undefined || writer.path === '' ? undefined : writer.seriesName),
      redactor: () => this.#host.redactor(),
      count: (code) => this.#host.count(code),
    });
    return shipper;
  }

  #makeInline(): InlinePayloads {
    const { spans, sink } = this.#host;
    const inline = new InlinePayloads({
      isCongested: () => spans.isCongested?.() ?? false,
      report: (code, message) => this.#host.report(code, message),
    });
    spans.onPayloadsExported?.((keys, isAccepted) => {
      if (isAccepted) for (const key of keys) sink.queue(undefined, { type: 'shipped', key });
      inline.exported(keys, isAccepted);
    });
    return inline;
  }

  /** Inline transport: the span waits for its payload, where it goes anywhere at all. */
  #endStored(
    { key, digest, sizeBytes }: CallEndRecord | ToolRecord,
    span: SpanHandle,
    readSnapshotJson: () => Uint8Array,
    end: (payload: PayloadOnSpan) => void,
    snapshotJsonNow?: () => Uint8Array,
    openSnapshot?: () => OpenSnapshot,
  ): void {
    if (this.#host.config.bodyMode === 'inline') this.#inline ??= this.#makeInline();
    const room = this.#inline && key !== undefined ? this.#host.spans.payloadRoom?.(span) : undefined;
    if (!this.#inline || key === undefined || !room) end({});
    else this.#inline.add({ key, digest, sizeBytes, room, readSnapshotJson, openSnapshot, end }, snapshotJsonNow);
  }

  #readTool(location: RecordLocation | undefined): Uint8Array {
    if (!location) throw new Error('the tool execution was not written');
    return readToolSnapshotJson(location, this.#host.source);
  }

  #ended({ kind, facts, nested, isKept }: EndedSpan, isWritten: boolean): void {
    if (isKept) this.#count(kind, isWritten);
    else this.#notKept.add(kind);
    if (kind === 'llm') this.#metrics.callEnded(facts, nested);
    else this.#metrics.touched();
  }

  #count(kind: string, isWritten: boolean): void {
    if (isWritten) this.#recorded[kind] = (this.#recorded[kind] ?? 0) + 1;
    else if (this.#host.config.keepsFiles) this.#unwritten++;
  }

  #health(): ReturnType<typeof recorderHealth> {
    const { writer } = this.#host;
    return recorderHealth({
      recorded: this.#recorded,
      unwritten: this.#unwritten,
      notKept: this.#notKept.byKind,
      faults: this.#host.faults(),
      shipper: this.shipperStats(),
      segmentBytes: writer?.writtenBytes ?? 0,
      segmentSizeBytes: writer?.sizeBytes ?? 0,
    });
  }

  #append(record: CallEndRecord | ToolRecord): RecordLocation | undefined {
    const { sink, writer } = this.#host;
    sink.flush();
    const location = writer?.append([[record]])?.[0];
    writer?.syncCall();
    return location;
  }

  #writeTool(record: ToolRecord): boolean {
    const location = this.#append(record);
    this.#count('tool', location !== undefined);
    this.#metrics.touched();
    if (location) {
      this.#toolLocations.set(record, location);
      if (record.key !== undefined) this.#offer(new ToolItem(record.key, record, location, this.#host.source));
    }
    return location !== undefined;
  }

  #offerCall(stored: StoredCall, location: RecordLocation, exchanges: RecordLocation[]): void {
    const { record } = stored;
    if (record.key === undefined) return;
    this.#offer(new CallItem(record.key, record, location, exchanges, this.#host.source), jsonNow(stored));
  }

  #offer(item: ShipItem, snapshotJsonNow?: () => Uint8Array): void {
    this.#shipper ??= this.#makeShipper();
    this.#shipper?.offer(item, snapshotJsonNow);
  }

  #shipperHost(): ShipperHost {
    return {
      acknowledged: (key) => {
        if (this.#leftBehind?.acknowledged(key) !== true) this.#host.sink.queue(undefined, { type: 'shipped', key });
      },
      quarantined: (key, reason) => {
        if (this.#leftBehind?.quarantined(key, reason) === true) return;
        this.#host.sink.queue(undefined, {
          type: 'quarantined',
          key,
          reason: this.#host.redactor().text(reason).text,
          atUnixNano: `${BigInt(nowMs()) * 1_000_000n}`,
        });
      },
      gaveUp: (key, what) => this.#leftBehind?.gaveUp(key, what),
      report: (code, message) => this.#host.report(code, message),
    };
  }
}

// Functions of their own, so that what waits to be sent holds places in the segment and nothing else of the call: closures that are
// made in one function hold what any of them needs.
function storedJson(location: RecordLocation, exchanges: RecordLocation[], source: SnapshotSource): () => Uint8Array {
  return () => readCallSnapshotJson(location, exchanges, source);
}

function jsonNow({ snapshot, record, bodies }: StoredCall): (() => Uint8Array) | undefined {
  return isInPieces(record.sizeBytes) ? undefined : () => snapshotJson(snapshot, bodies, record.sizeBytes);
}
