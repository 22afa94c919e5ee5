/**
 * Everything that is done once a call has ended: views, sessions, tools, digests, spans, offers to the shipper. It needs
 * the protocol adapters, so it is loaded when the first request has left, and never before it.
 */
import type { Redactor } from '@orangebox/codec';
import type { CallEndRecord, Json, ToolRecord } from '@orangebox/schema';
import type { OpenCall } from './call-tracker.ts';
import type { RecorderConfig } from './config.ts';
import { type FinaliserHost, finaliseCall, type StoredCall } from './finaliser.ts';
import { LazyShipper } from './lazy-shipper.ts';
import { semconvNames } from './otel/gen-ai-attributes.ts';
import type { RecordSink } from './record-sink.ts';
import type { RecordLocation } from './record-location.ts';
import type { SegmentWriter } from './segment-writer.ts';
import type { SessionCounts } from './session-counts.ts';
import { SessionBook } from './sessions.ts';
import { sha256Hex } from './sha256.ts';
import type { ShipperHost, ShipperStats } from './shipper.ts';
import type { CallSpans } from './spans.ts';
import { readCallSnapshotJson, readToolSnapshotJson, type SnapshotSource } from './stored-snapshot.ts';
import { ToolRecorder } from './tools.ts';
import type { WrappedToolRun } from './wire-events.ts';

/** What the core gives. */
export interface FinisherHost {
  config: RecorderConfig;
  writer: SegmentWriter | undefined;
  source: SnapshotSource;
  sink: RecordSink;
  spans: CallSpans;
  counts: SessionCounts;
  redactor(): Redactor;
  /** Calls made inside this span name it as their parent. */
  isParent(spanId: string): boolean;
  /** A call that began before this time has not been looked at yet. */
  isAnyCallOpenBefore(startUnixNano: bigint): boolean;
  report(code: string, message: string): void;
}

/** Finishes calls and tool executions. */
export interface Finisher {
  callEnded(call: OpenCall, declaredSeq: number | undefined): void;
  toolRan(run: WrappedToolRun): void;
  /** Records tool executions that waited for their call; `force` leaves none. */
  settleTools(force: boolean): void;
  flush(timeoutMs: number): Promise<void>;
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
  readonly #shipper: LazyShipper | undefined;
  readonly #finaliserHost: FinaliserHost;

  constructor(host: FinisherHost) {
    this.#host = host;
    const { config, counts, source, sink, spans } = host;
    const spanContent = { captureContent: config.captureContent, names: semconvNames(config.otel.semconvOptIn) };
    this.#shipper = config.endpoint && config.keepsBodies ? new LazyShipper(config, this.#shipperHost()) : undefined;
    this.#tools = new ToolRecorder({
      process: source.process,
      sha256: sha256Hex,
      spans,
      spanContent,
      redactor: () => host.redactor(),
      keepsContent: config.keepsBodies,
      promisesKeys: config.keepsBodies && config.keepsFiles && config.level === 'full',
      write: (record) => this.#writeTool(record),
      isParent: (spanId) => host.isParent(spanId),
      isAnyCallOpenBefore: (nano) => host.isAnyCallOpenBefore(nano),
      seqOf: (sessionId) => counts.newestSeq(sessionId),
    });
    this.#finaliserHost = {
      config,
      source,
      sink,
      sessions: new SessionBook(sha256Hex, counts),
      tools: this.#tools,
      spans,
      spanContent,
      redactor: () => host.redactor(),
      writeCallEnd: (record) => this.#append(record),
      onStored: (end, location, exchanges) => this.#offerCall(end, location, exchanges),
    };
  }

  get toolCount(): number {
    return this.#tools.count;
  }

  callEnded(call: OpenCall, declaredSeq: number | undefined): void {
    finaliseCall({ ...call, ...(declaredSeq === undefined ? {} : { declaredSeq }) }, this.#finaliserHost);
  }

  toolRan(run: WrappedToolRun): void {
    this.#tools.ran(run);
  }

  settleTools(force: boolean): void {
    this.#tools.settleRuns(force);
  }

  async flush(timeoutMs: number): Promise<void> {
    await this.#shipper?.flush(timeoutMs);
  }

  shipperStats(): ShipperStats | undefined {
    return this.#shipper?.stats();
  }

  #append(record: CallEndRecord | ToolRecord): RecordLocation | undefined {
    const { sink, writer } = this.#host;
    sink.flush();
    const location = writer?.append([[record]])?.[0];
    writer?.syncCall();
    return location;
  }

  #writeTool(record: ToolRecord): boolean {
    if (this.#host.config.level === 'errors' && !record.error && !record.tool.error) return true;
    const location = this.#append(record);
    if (location) this.#offer(record, () => readToolSnapshotJson(location, this.#host.source));
    return location !== undefined;
  }

  #offerCall({ record, snapshot }: StoredCall, location: RecordLocation, exchanges: RecordLocation[]): void {
    this.#offer(
      record,
      () => readCallSnapshotJson(location, exchanges, this.#host.source),
      () => Buffer.from(JSON.stringify(snapshot)),
    );
  }

  #offer(
    record: CallEndRecord | ToolRecord,
    readSnapshotJson: () => Uint8Array,
    snapshotJsonNow?: () => Uint8Array,
  ): void {
    const { key, digest, sizeBytes, spans } = record;
    if (key === undefined) return;
    const { traceId, spanId } = record.trace;
    const spanJson = spanHead(spans[0]);
    this.#shipper?.offer({ key, digest, traceId, spanId, spanJson, sizeBytes, readSnapshotJson }, snapshotJsonNow);
  }

  #shipperHost(): ShipperHost {
    return {
      acknowledged: (key) => this.#host.sink.queue(undefined, { type: 'shipped', key }),
      report: (code, message) => this.#host.report(code, message),
    };
  }
}

/** What the payload twin takes over of a span. */
const SPAN_HEAD: ReadonlySet<string> = new Set([
  'name',
  'kind',
  'parentSpanId',
  'startTimeUnixNano',
  'endTimeUnixNano',
]);

/** An item that waits keeps no attributes: they may hold whole conversations. */
function spanHead(span: Json | undefined): Json {
  return Object.fromEntries(Object.entries(span ?? {}).filter(([name]) => SPAN_HEAD.has(name)));
}
