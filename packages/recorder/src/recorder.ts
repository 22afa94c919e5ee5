/** Puts the recorder together: what the wire taps and the public API write to. */
import { isUtf8 } from 'node:buffer';
import type { Level, RunRecord, TraceRef } from '@orangebox/schema';
import { CallTracker, type OpenCall } from './call-tracker.ts';
import { type RecorderConfig, readConfig } from './config.ts';
import { DeferredQueue } from './deferred-queue.ts';
import { type ExchangeHost, ExchangeRecorder } from './exchange-recorder.ts';
import type { createFinisher, Finisher } from './finisher.ts';
import { loadFinisher, loadFinisherNow } from './load-finisher.ts';
import { Journal } from './journal.ts';
import { JournalWriter } from './journal-writer.ts';
import { LevelControl } from './level-control.ts';
import { MemoryBudget } from './memory-budget.ts';
import { createCallSpans } from './otel/call-spans.ts';
import { callStartAttributes } from './otel/span-content.ts';
import { processInfo } from './process-info.ts';
import { readBackBits } from './record-bits.ts';
import { readBack } from './record-location.ts';
import { RecordSink } from './record-sink.ts';
import { type ExchangePlan, type LevelPlan, levelPlans } from './recording-plan.ts';
import { redactJson } from './redact-json.ts';
import { redactRunRecord } from './run-records.ts';
import { createReporter, type Reporter } from './report.ts';
import { verdictAtBegin } from './sampling-policy.ts';
import { SecretKeeper } from './secrets.ts';
import { realFs, type SegmentFs } from './segment-directory.ts';
import { SegmentWriter } from './segment-writer.ts';
import { SessionCounts } from './session-counts.ts';
import type { ShipperStats } from './shipper.ts';
import { type CallSpans, provisionalTrace } from './spans.ts';
import type { SnapshotSource } from './stored-snapshot.ts';
import type { CallContext, WireExchange, WireExchangeStart, WireSink, WrappedToolRun } from './wire-events.ts';
import { monotonicMs, nextTurn, nowMs, type PlatformTimers, useTimers } from './timers.ts';

/** Replaces parts of the recorder; programs under the preload need none of it. */
export interface RecorderOptions {
  /** Default: `process.env`, read again for secrets. */
  env?: Record<string, string | undefined>;
  fs?: SegmentFs;
  spans?: CallSpans;
  /** Where the one-line warnings go; default stderr. */
  writeWarning?: (line: string) => void;
  /** The platform's clock and timers, where the program may have put others in their place. */
  timers?: PlatformTimers;
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
  useTimers(options.timers, (error) => reporter.fault('timer', error));
  const env = options.env ?? process.env;
  const config = readConfig(env, (variable, message) => {
    // The preload reads the level first, and has told a bad one.
    if (variable !== 'ORANGEBOX_LEVEL') reporter.warn(`config:${variable}`, message);
  });
  return new SegmentRecorder(config, reporter, { ...options, env });
}

const MAX_REMEMBERED_PARENTS = 10_000;
/** For finishing calls before the application's provider shuts down. */
const SHUTDOWN_MS = 500;
/** With less time than this left, a flush ends though calls are not finished. */
const LEAST_ROUND_MS = 20;

class SegmentRecorder implements Recorder {
  readonly #config: RecorderConfig;
  readonly #reporter: Reporter;
  readonly #secrets: SecretKeeper;
  readonly #writer: SegmentWriter | undefined;
  readonly #sink: RecordSink;
  readonly #journal: Journal;
  readonly #levels: LevelControl;
  readonly #plans: ReturnType<typeof levelPlans>;
  readonly #budget: MemoryBudget;
  readonly #spans: CallSpans;
  readonly #tracker: CallTracker;
  readonly #queue: DeferredQueue;
  readonly #counts: SessionCounts = new SessionCounts();
  readonly #source: SnapshotSource;
  readonly #exchangeHost: ExchangeHost;
  readonly #declaredSeqs: WeakMap<OpenCall, number> = new WeakMap();
  /** Ended calls that wait in the queue; their tools are not known yet. */
  readonly #ending: Set<OpenCall> = new Set();
  readonly #parents: Set<string> = new Set();
  #finisher: Finisher | undefined;
  #loading: Promise<void> | undefined;
  #exchanges = 0;
  #calls = 0;

  constructor(
    config: RecorderConfig,
    reporter: Reporter,
    options: RecorderOptions & { env: NonNullable<RecorderOptions['env']> },
  ) {
    this.#config = config;
    this.#reporter = reporter;
    const { env, fs = realFs } = options;
    this.#secrets = new SecretKeeper(config.redactPatterns, () => env, nowMs);
    const about = processInfo(config);
    const process = redactJson(about, this.#secrets.redactor(), 'metadata').value ?? about;
    this.#writer = config.keepsFiles
      ? new SegmentWriter({
          dir: config.dir,
          process,
          dirBytes: config.dirBytes,
          maxAgeMs: config.maxAgeMs,
          fsync: config.fsync,
          reporter,
          fs,
          keepFromN: () => this.#oldestFileInUse(),
        })
      : undefined;
    this.#sink = new RecordSink(this.#writer);
    const bodiesAllowed = (): boolean => this.#writer?.bodiesAllowed ?? true;
    this.#journal = new Journal(
      new JournalWriter({ dir: config.dir, process, fsync: config.fsync, reporter, fs, bodiesAllowed }),
    );
    this.#levels = new LevelControl({ level: config.level, dir: config.dir, fs, reporter });
    this.#plans = levelPlans(config);
    this.#budget = new MemoryBudget(config.memoryBytes);
    this.#spans = options.spans ?? createCallSpans(config, reporter);
    this.#spans.onBeforeShutdown?.(() => {
      const until = nowMs() + SHUTDOWN_MS;
      this.#finishEnded(until);
      this.#finisher?.drainSpanPayloads(until);
    });
    this.#queue = new DeferredQueue((error) => reporter.fault('deferred', error));
    this.#source = {
      process,
      read: (locations) => locations.flatMap((l) => readBack(l, fs)),
      readBits: (locations) => readBackBits(locations, fs),
    };
    this.#tracker = new CallTracker({
      startSpan: (first) =>
        this.#spans.start({
          kind: first.start.kind,
          context: first.start.context,
          provisional: first.records.start.trace,
          startUnixNano: first.start.startUnixNano,
          name: first.start.method,
          // Only an application's provider asks for them.
          get attributes() {
            return callStartAttributes(first.start.method, first.records.start.url);
          },
        }),
      onCallStarted: (call) => {
        const session = call.exchanges[0]?.start.context.session;
        if (session) this.#declaredSeqs.set(call, this.#counts.nextSeq(session.id));
      },
      onCallEnded: (call) => this.#callEnded(call),
      onFault: (code, error) => reporter.fault(code, error),
    });
    this.#exchangeHost = this.#makeExchangeHost();
    if (config.mode === 'metadata' && config.level === 'full') {
      reporter.warn(
        'metadata_only',
        'an OTLP endpoint is set, and neither ORANGEBOX_DIR nor ORANGEBOX_ENDPOINT: spans are sent, no snapshot is kept',
      );
    }
  }

  open(start: WireExchangeStart): WireExchange {
    try {
      const level = this.#planNow();
      if (!level) return DEAF_EXCHANGE;
      const parent = start.context.parent?.spanId;
      if (parent !== undefined) this.#rememberParent(parent);
      const trace = provisionalTrace(start.context);
      const session = start.context.session;
      if (session) this.#counts.begun(session.id, trace.traceId);
      const plan = this.#planFor(level, start, trace);
      const exchange = new ExchangeRecorder(this.#exchangeHost, ++this.#exchanges, start, trace, plan);
      this.#loadSoon();
      this.#tracker.opened(exchange);
      return exchange;
    } catch (error) {
      this.#reporter.fault('open', error);
      return DEAF_EXCHANGE;
    }
  }

  tool(run: WrappedToolRun): void {
    const plan = this.#planNow();
    if (!plan) return;
    this.#loadSoon();
    this.#later(() => this.#finisher?.toolRan(run, plan));
  }

  run(record: RunRecord): void {
    try {
      this.#sink.queue(undefined, redactRunRecord(record, this.#secrets.redactor()));
    } catch (error) {
      this.#reporter.fault('run', error);
    }
  }

  holdsSecret(bytes: Uint8Array): boolean {
    // Of bytes that are no text, each is a character: a secret in them is found as it is.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { redactions } = this.#secrets.redactor().text(text.toString(isUtf8(text) ? 'utf8' : 'latin1'), 'run');
    return redactions.length > 0;
  }

  setLevel(level: Level): void {
    this.#levels.set(level);
  }

  level(): Level {
    return this.#config.level === 'off' ? 'off' : this.#levels.level;
  }

  traceOf(context: CallContext): { traceId: string } | undefined {
    const session = context.session;
    const traceId = session && this.#counts.traceOf(session.id);
    return traceId === undefined ? undefined : { traceId };
  }

  /** Exchanges that are open stay open: the tap ends them where the process really ends. */
  flushSync(ending: 'process_exit' | 'signal', timeoutMs: number = Number.POSITIVE_INFINITY): void {
    try {
      const until = nowMs() + timeoutMs;
      if (this.#loading && !this.#finisher) this.#adopt(loadFinisherNow());
      for (const exchange of [...this.#tracker.openExchanges]) exchange.sealSync();
      const isEnd = ending === 'process_exit';
      if (isEnd) this.#finishEnded(until);
      else this.#queue.drainSync(until);
      this.#finisher?.settleTools(isEnd);
      if (isEnd) this.#finisher?.drainSpanPayloads(until);
      this.#finisher?.tellCounts();
      this.#journal.sink.flush();
      this.#sink.flush();
      this.#writer?.close();
    } catch (error) {
      this.#reporter.fault('flush_sync', error);
    }
  }

  async flush(timeoutMs: number): Promise<void> {
    try {
      const until = monotonicMs() + timeoutMs;
      // Not by waiting for the load that was begun: with nothing else to do, its turn never comes.
      if (this.#loading && !this.#finisher) this.#adopt(await loadFinisher());
      const left = (): number => Math.max(0, until - monotonicMs());
      for (const exchange of [...this.#tracker.openExchanges]) exchange.sealSync();
      do {
        // What is finished needs time to be sent.
        this.#finishEnded(nowMs() + left() / 2);
        this.#finisher?.settleTools(this.#tracker.openExchanges.size === 0);
        this.#finisher?.tellCounts();
        await this.#finisher?.flushSpanPayloads(left());
        await Promise.all([this.#spans.flush(left()), this.#finisher?.flush(left())]);
      } while (this.#finisher && !this.#queue.isEmpty && left() > LEAST_ROUND_MS);
    } catch (error) {
      this.#reporter.fault('flush', error);
    }
  }

  stats(): RecorderStats {
    const shipper = this.#finisher?.shipperStats();
    const plan = this.#planNow();
    return {
      mode: plan?.mode ?? 'off',
      calls: this.#calls,
      tools: this.#finisher?.toolCount ?? 0,
      open: this.#tracker.openExchanges.size,
      heldBytes: this.#budget.usedBytes,
      reliefs: this.#budget.reliefs,
      segmentPath: this.#writer?.path ?? '',
      faults: this.#reporter.counts(),
      ...(shipper ? { shipper } : {}),
    };
  }

  /** What holds for a call or tool run now; undefined: nothing is recorded. */
  #planNow(): LevelPlan | undefined {
    const level = this.level();
    return level === 'off' ? undefined : this.#plans[level];
  }

  #planFor(level: LevelPlan, { kind, context }: WireExchangeStart, trace: TraceRef): ExchangePlan {
    // Where nothing is written, there is nothing to choose.
    if (!this.#config.keepsFiles) return { ...level, verdict: 'kept' };
    const verdict = verdictAtBegin(level.sample, {
      // Without a parent the call may turn out to belong to the trace of its session.
      traceId: trace.parentSpanId === undefined ? undefined : trace.traceId,
      route: context.inbound?.route,
      metadata: context.session?.metadata,
      mayHaveModel: kind === 'llm',
    });
    return { ...level, verdict };
  }

  /**
   * Everything that has ended on the wire is finished now, as far as the time goes. The calls that are left stand in the
   * segment with the ends of their exchanges, of which readers and recovery make them.
   */
  #finishEnded(untilMs: number): void {
    this.#journal.sink.flush();
    this.#sink.flush();
    this.#tracker.completeWaiting();
    this.#queue.drainSync(untilMs);
  }

  #callEnded(call: OpenCall): void {
    this.#ending.add(call);
    this.#later(() => {
      this.#ending.delete(call);
      this.#calls++;
      if (this.#finisher) this.#finisher.callEnded(call, this.#declaredSeqs.get(call));
      else this.#abandon(call);
    });
  }

  /** Nobody can decide about it: what is on record of it stays. */
  #abandon({ exchanges }: OpenCall): void {
    try {
      for (const exchange of exchanges) exchange.keep();
      this.#journal.leave(exchanges);
    } finally {
      for (const exchange of exchanges) exchange.release();
    }
  }

  /**
   * In the next turn, so that the program does not wait for it; but at once, briefly, where its provider may stop unseen:
   * that might take no span in the next turn.
   */
  #later(piece: () => void): void {
    this.#queue.push(piece);
    if (this.#spans.mayStopUnseen?.() !== true) return;
    try {
      if (this.#loading && !this.#finisher) this.#adopt(loadFinisherNow());
      this.#queue.drainSync(Number.POSITIVE_INFINITY);
      this.#finisher?.drainSpanPayloads(Number.POSITIVE_INFINITY);
    } catch (error) {
      this.#reporter.fault('finish_unseen', error);
    }
  }

  #makeExchangeHost(): ExchangeHost {
    return {
      config: this.#config,
      sink: this.#sink,
      journal: this.#journal,
      source: this.#source,
      budget: this.#budget,
      redactor: () => this.#secrets.redactor(),
      onRequestKnown: (exchange) => this.#tracker.requestKnown(exchange),
      onEnded: (exchange) => this.#tracker.ended(exchange),
      onSealed: (exchange) => this.#tracker.sealed(exchange),
      onFault: (code, error) => this.#reporter.fault(code, error),
    };
  }

  /** The rest is loaded when the first request has left: while its answer is awaited. */
  #loadSoon(): void {
    this.#loading ??= new Promise<void>((resolve) => {
      nextTurn(() => {
        loadFinisher()
          .then((create) => this.#adopt(create))
          .catch((error: unknown) => {
            this.#reporter.fault('load', error);
            // Nothing will ever finish a call: what ends is let go, and does not wait for ever.
            this.#queue.release();
          })
          .finally(resolve);
      }).unref();
    });
  }

  #adopt(create: typeof createFinisher | undefined): void {
    if (!create || this.#finisher) return;
    this.#finisher = create({
      config: this.#config,
      writer: this.#writer,
      source: this.#source,
      sink: this.#sink,
      journal: this.#journal,
      spans: this.#spans,
      counts: this.#counts,
      redactor: () => this.#secrets.redactor(),
      isParent: (spanId) => this.#parents.has(spanId),
      isAnyCallOpenBefore: (nano) => this.#isAnyCallOpenBefore(nano),
      count: (code) => this.#reporter.count(code),
      faults: () => this.#reporter.counts(),
      // The message may quote what an endpoint answered.
      report: (code, message) => this.#reporter.warn(code, this.#secrets.redactor().text(message).text),
    });
    this.#queue.release();
  }

  #oldestFileInUse(): number | undefined {
    let oldest: number | undefined;
    const ending = [...this.#ending].flatMap((call) => call.exchanges);
    for (const { locations, plan } of [...this.#tracker.openExchanges, ...ending]) {
      if (plan.verdict !== 'kept') continue;
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
