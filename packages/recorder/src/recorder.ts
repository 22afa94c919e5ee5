/** Puts the recorder together: what the wire taps and the public API write to. */
import type { CallEndRecord, ToolRecord } from '@orangebox/schema';
import { CallTracker, type OpenCall } from './call-tracker.ts';
import { type RecorderConfig, readConfig } from './config.ts';
import { DeferredQueue } from './deferred-queue.ts';
import { type ExchangeHost, ExchangeRecorder } from './exchange-recorder.ts';
import { finaliseCall, type FinaliserHost } from './finaliser.ts';
import { MemoryBudget } from './memory-budget.ts';
import { createCallSpans } from './otel/call-spans.ts';
import { semconvNames } from './otel/gen-ai-attributes.ts';
import { callStartAttributes } from './otel/span-content.ts';
import { processInfo } from './process-info.ts';
import { RecordSink } from './record-sink.ts';
import { createReporter, type Reporter } from './report.ts';
import { SecretKeeper } from './secrets.ts';
import type { SegmentFs } from './segment-directory.ts';
import { type RecordLocation, SegmentWriter } from './segment-writer.ts';
import { SessionBook } from './sessions.ts';
import { sha256Hex } from './sha256.ts';
import { LazyShipper } from './lazy-shipper.ts';
import type { ShipperStats } from './shipper.ts';
import { type CallSpans, provisionalTrace } from './spans.ts';
import { readCallSnapshotJson, readToolSnapshotJson, type SnapshotSource } from './stored-snapshot.ts';
import { ToolRecorder } from './tools.ts';
import type { CallContext, WireExchange, WireExchangeStart, WireSink, WrappedToolRun } from './wire-events.ts';

/** Replaces parts of the recorder; programs under the preload need none of it. */
export interface RecorderOptions {
  /** Default: `process.env`, read again for secrets. */
  env?: Record<string, string | undefined>;
  fs?: SegmentFs;
  spans?: CallSpans;
  /** Where the one-line warnings go; default stderr. */
  writeWarning?: (line: string) => void;
}

/** Counters of a recorder. */
export interface RecorderStats {
  mode: RecorderConfig['mode'] | 'off';
  /** Calls finished. */
  calls: number;
  tools: number;
  /** Exchanges whose call is not finished. */
  open: number;
  heldBytes: number;
  /** Times that open calls had to let their bytes go. */
  reliefs: number;
  /** The file that is written to; empty before the first record. */
  segmentPath: string;
  /** Faults and warnings by code. */
  faults: Record<string, number>;
  shipper?: ShipperStats;
}

/** A sink that records. */
export interface Recorder extends WireSink {
  stats(): RecorderStats;
}

/** Makes a recorder from the environment. Never throws; touches no file before the first exchange. */
export function createRecorder(options: RecorderOptions = {}): Recorder {
  const reporter = createReporter(options.writeWarning);
  const env = options.env ?? process.env;
  const config = readConfig(env, (variable, message) => {
    // The preload reads the level first, and has told a bad one.
    if (variable !== 'ORANGEBOX_LEVEL') reporter.warn(`config:${variable}`, message);
  });
  return new SegmentRecorder(config, reporter, { ...options, env });
}

const MAX_REMEMBERED_PARENTS = 10_000;

class SegmentRecorder implements Recorder {
  readonly #config: RecorderConfig;
  readonly #reporter: Reporter;
  readonly #secrets: SecretKeeper;
  readonly #writer: SegmentWriter | undefined;
  readonly #sink: RecordSink;
  readonly #budget: MemoryBudget;
  readonly #spans: CallSpans;
  readonly #tracker: CallTracker;
  readonly #queue: DeferredQueue;
  readonly #sessions: SessionBook;
  readonly #tools: ToolRecorder;
  readonly #source: SnapshotSource;
  readonly #shipper: LazyShipper | undefined;
  readonly #finaliserHost: FinaliserHost;
  readonly #exchangeHost: ExchangeHost;
  readonly #declaredSeqs: WeakMap<OpenCall, number> = new WeakMap();
  /** Ended calls that wait in the queue; their tools are not known yet. */
  readonly #ending: Set<OpenCall> = new Set();
  readonly #parents: Set<string> = new Set();
  readonly #ends: WeakMap<object, RecordLocation> = new WeakMap();
  #exchanges = 0;
  #calls = 0;

  constructor(
    config: RecorderConfig,
    reporter: Reporter,
    options: RecorderOptions & { env: NonNullable<RecorderOptions['env']> },
  ) {
    this.#config = config;
    this.#reporter = reporter;
    const { env } = options;
    this.#secrets = new SecretKeeper(config.redactPatterns, () => env);
    const process = processInfo(config);
    this.#writer = config.keepsFiles
      ? new SegmentWriter({
          dir: config.dir,
          process,
          dirBytes: config.dirBytes,
          fsync: config.fsync,
          reporter,
          ...(options.fs ? { fs: options.fs } : {}),
          keepFromN: () => this.#oldestFileInUse(),
        })
      : undefined;
    this.#sink = new RecordSink(this.#writer);
    this.#budget = new MemoryBudget(config.memoryBytes);
    this.#spans = options.spans ?? createCallSpans(config, reporter);
    this.#spans.onBeforeShutdown?.(() => this.#finishEnded());
    this.#queue = new DeferredQueue((error) => reporter.fault('deferred', error));
    this.#sessions = new SessionBook(sha256Hex);
    this.#source = { process, read: (locations) => locations.map((l) => this.#read(l)) };
    this.#shipper = config.endpoint && config.keepsBodies ? new LazyShipper(config, this.#shipperHost()) : undefined;
    const spanContent = { captureContent: config.captureContent, names: semconvNames(config.otel.semconvOptIn) };
    this.#tools = new ToolRecorder({
      process,
      sha256: sha256Hex,
      spans: this.#spans,
      spanContent,
      redactor: () => this.#secrets.redactor(),
      promisesKeys: config.keepsBodies && config.keepsFiles && config.level === 'full',
      write: (record) => this.#writeTool(record),
      isParent: (spanId) => this.#parents.has(spanId),
      isAnyCallOpenBefore: (nano) => this.#isAnyCallOpenBefore(nano),
      seqOf: (sessionId) => this.#sessions.nextSeq(sessionId),
    });
    this.#tracker = new CallTracker({
      startSpan: (first) =>
        this.#spans.start({
          kind: first.start.kind,
          context: first.start.context,
          provisional: first.records.start.trace,
          startUnixNano: first.start.startUnixNano,
          name: first.start.method,
          attributes: callStartAttributes(first.start.method, first.records.start.url),
        }),
      onCallStarted: (call) => {
        const session = call.exchanges[0]?.start.context.session;
        if (session) this.#declaredSeqs.set(call, this.#sessions.nextSeq(session.id));
      },
      onCallEnded: (call) => this.#callEnded(call),
      onFault: (code, error) => reporter.fault(code, error),
    });
    this.#exchangeHost = this.#makeExchangeHost();
    this.#finaliserHost = {
      config,
      source: this.#source,
      sink: this.#sink,
      sessions: this.#sessions,
      tools: this.#tools,
      spans: this.#spans,
      spanContent,
      writeCallEnd: (record) => this.#append(record),
      onStored: (record, exchanges) => this.#offerCall(record, exchanges),
    };
    if (config.mode === 'metadata' && config.level === 'full') {
      reporter.warn(
        'metadata_only',
        'an OTLP endpoint is set, and neither ORANGEBOX_DIR nor ORANGEBOX_ENDPOINT: spans are sent, no snapshot is kept',
      );
    }
  }

  open(start: WireExchangeStart): WireExchange {
    try {
      if (this.#config.level === 'off') return DEAF_EXCHANGE;
      const parent = start.context.parent?.spanId;
      if (parent !== undefined) this.#rememberParent(parent);
      const exchange = new ExchangeRecorder(
        this.#exchangeHost,
        ++this.#exchanges,
        start,
        provisionalTrace(start.context),
      );
      this.#tracker.opened(exchange);
      return exchange;
    } catch (error) {
      this.#reporter.fault('open', error);
      return DEAF_EXCHANGE;
    }
  }

  tool(run: WrappedToolRun): void {
    if (this.#config.level === 'off') return;
    this.#queue.push(() => this.#tools.ran(run));
  }

  traceOf(context: CallContext): { traceId: string } | undefined {
    const session = context.session;
    const traceId = session && this.#sessions.traceOf(session.id);
    return traceId === undefined ? undefined : { traceId };
  }

  /** Exchanges that are open stay open: the tap ends them where the process really ends. */
  flushSync(_ending: 'process_exit'): void {
    try {
      for (const exchange of [...this.#tracker.openExchanges]) exchange.sealSync();
      this.#finishEnded();
      this.#tools.settleRuns(true);
      this.#sink.flush();
      this.#writer?.close();
    } catch (error) {
      this.#reporter.fault('flush_sync', error);
    }
  }

  async flush(timeoutMs: number): Promise<void> {
    try {
      const until = performance.now() + timeoutMs;
      const left = (): number => Math.max(0, until - performance.now());
      for (const exchange of [...this.#tracker.openExchanges]) exchange.sealSync();
      this.#finishEnded();
      this.#tools.settleRuns(this.#tracker.openExchanges.size === 0);
      await Promise.all([this.#spans.flush(left()), this.#shipper?.flush(left())]);
    } catch (error) {
      this.#reporter.fault('flush', error);
    }
  }

  stats(): RecorderStats {
    const shipper = this.#shipper?.stats();
    return {
      mode: this.#config.level === 'off' ? 'off' : this.#config.mode,
      calls: this.#calls,
      tools: this.#tools.count,
      open: this.#tracker.openExchanges.size,
      heldBytes: this.#budget.usedBytes,
      reliefs: this.#budget.reliefs,
      segmentPath: this.#writer?.path ?? '',
      faults: this.#reporter.counts(),
      ...(shipper ? { shipper } : {}),
    };
  }

  /** Everything that has ended on the wire is finished now. */
  #finishEnded(): void {
    this.#sink.flush();
    this.#tracker.completeWaiting();
    this.#queue.drainSync();
  }

  #callEnded(call: OpenCall): void {
    this.#ending.add(call);
    this.#queue.push(() => {
      this.#ending.delete(call);
      this.#calls++;
      const declaredSeq = this.#declaredSeqs.get(call);
      finaliseCall({ ...call, ...(declaredSeq === undefined ? {} : { declaredSeq }) }, this.#finaliserHost);
    });
  }

  #makeExchangeHost(): ExchangeHost {
    return {
      config: this.#config,
      sink: this.#sink,
      budget: this.#budget,
      redactor: () => this.#secrets.redactor(),
      writesAtOnce: this.#config.level !== 'errors',
      writesBodies: this.#config.keepsBodies,
      onRequestKnown: (exchange) => this.#tracker.requestKnown(exchange),
      onEnded: (exchange) => this.#tracker.ended(exchange),
      onSealed: (exchange) => this.#tracker.sealed(exchange),
      onFault: (code, error) => this.#reporter.fault(code, error),
    };
  }

  #append(record: CallEndRecord | ToolRecord): RecordLocation | undefined {
    this.#sink.flush();
    const location = this.#writer?.append([record])?.[0];
    this.#writer?.syncCall();
    if (location && record.key !== undefined) this.#ends.set(record, location);
    return location;
  }

  #writeTool(record: ToolRecord): boolean {
    if (this.#config.level === 'errors' && !record.error && !record.tool.error) return true;
    const location = this.#append(record);
    if (!location) return false;
    const { key, digest, trace, sizeBytes, spans } = record;
    if (key !== undefined) {
      const readSnapshotJson = (): Uint8Array => readToolSnapshotJson(location, this.#source);
      this.#shipper?.offer({ key, digest, ...ids(trace), spanJson: spans[0] ?? {}, sizeBytes, readSnapshotJson });
    }
    return true;
  }

  #offerCall(record: CallEndRecord, exchanges: RecordLocation[]): void {
    const location = this.#ends.get(record);
    const { key, digest, trace, sizeBytes, spans } = record;
    if (!location || key === undefined) return;
    const readSnapshotJson = (): Uint8Array => readCallSnapshotJson(location, exchanges, this.#source);
    this.#shipper?.offer({ key, digest, ...ids(trace), spanJson: spans[0] ?? {}, sizeBytes, readSnapshotJson });
  }

  #shipperHost(): ConstructorParameters<typeof LazyShipper>[1] {
    return {
      acknowledged: (key) => this.#sink.queue(undefined, { type: 'shipped', key }),
      report: (code, message) => this.#reporter.warn(code, message),
    };
  }

  #read(location: RecordLocation): ReturnType<SegmentWriter['read']> {
    if (!this.#writer) throw new Error('nothing is kept on the disk');
    return this.#writer.read(location);
  }

  #oldestFileInUse(): number | undefined {
    let oldest: number | undefined;
    for (const { locations } of this.#tracker.openExchanges) {
      const n = locations[0]?.n;
      if (n !== undefined && (oldest === undefined || n < oldest)) oldest = n;
    }
    return oldest;
  }

  #isAnyCallOpenBefore(nano: bigint): boolean {
    for (const { start } of this.#tracker.openExchanges) if (start.startUnixNano <= nano) return true;
    for (const call of this.#ending) if ((call.exchanges[0]?.start.startUnixNano ?? nano + 1n) <= nano) return true;
    return false;
  }

  #rememberParent(spanId: string): void {
    this.#parents.add(spanId);
    if (this.#parents.size <= MAX_REMEMBERED_PARENTS) return;
    for (const oldest of this.#parents) {
      this.#parents.delete(oldest);
      break;
    }
  }
}

function ids(trace: { traceId: string; spanId: string }): { traceId: string; spanId: string } {
  return { traceId: trace.traceId, spanId: trace.spanId };
}

/** Takes everything and keeps nothing. */
const DEAF_EXCHANGE: WireExchange = {
  requestHead() {},
  requestChunk() {},
  requestEnd() {},
  informational() {},
  responseHead() {},
  responseChunk() {},
  end() {},
};
