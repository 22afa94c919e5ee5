/** The one runtime of a thread: taps, sink, scopes, exit. Found by everything else through a global symbol. */
import { recogniseRequest } from '@orangebox/codec';
import type { WireExchange, WireExchangeStart, WireSink, WrappedToolRun } from '@orangebox/recorder';
import type { Level, RunRecord } from '@orangebox/schema';
import type { InstrumentConfig } from './config.ts';
import { type ExitHooks, installExitHooks } from './exit-hooks.ts';
import type { ExchangeTap, Leaving } from './exchange-tap.ts';
import { LateExchange } from './late-exchange.ts';
import type { FaultCounts, Faults } from './faults.ts';
import { HostCounts } from './host-counts.ts';
import { callContext, currentScope, runInScope, withFrame } from './scope.ts';
import type { TapHost, Verdict } from './tap-host.ts';
import type { ToolPort } from './tool-port.ts';

/** As it was at the start: a program under test may put a clock of its own in its place. */
const { setImmediate } = globalThis;
const { nextTick } = process;

/** Key of the runtime on `globalThis`; the number changes when its members do. */
export const RUNTIME: unique symbol = Symbol.for('orangebox.runtime.1');

/** What other copies of Orangebox's code (recorder, public API) may use of the runtime. */
export interface Runtime {
  /** Runs `fn` so that no request made in it is tapped; the recorder's own requests are made so. */
  suppress<T>(fn: () => T): T;
  /** Of a run: who is told of tools before they run. */
  readonly tools?: ToolPort | undefined;
  /** Hands a tool's run to the recorder. */
  tool(run: WrappedToolRun): void;
  /** Sets the level for what begins from now on. */
  setLevel(level: Level): void;
  /** The level for what begins now; `off` where nothing can be recorded. */
  level(): Level;
  /** Span ids of the trace that a tool run starting here belongs to, if the recorder knows. */
  traceHere(): { traceId: string; spanId?: string } | undefined;
  /** Number of requests recorded so far. */
  readonly recorded: number;
  /** Faults so far, by place. */
  readonly faults: FaultCounts;
  /** Flushes what is recorded; settles after `timeoutMs` at the latest. */
  flush(timeoutMs: number): Promise<void>;
  /** Takes every hook out again. */
  uninstall(): void;
  /** Module functions of the first copy, so that scopes are the same for each copy of the public API. */
  readonly scopes: {
    run: typeof runInScope;
    current: typeof currentScope;
    context: typeof callContext;
    frame: typeof withFrame;
  };
}

/** The runtime of this thread, if the preload is active. */
export function currentRuntime(): Runtime | undefined {
  return (globalThis as { [RUNTIME]?: Runtime })[RUNTIME];
}

/** The host of the taps and the runtime in one. */
export class RuntimeHost implements TapHost, Runtime {
  readonly openTaps: Set<ExchangeTap> = new Set();
  readonly hosts: HostCounts = new HostCounts();
  readonly scopes: Runtime['scopes'] = {
    run: runInScope,
    current: currentScope,
    context: callContext,
    frame: withFrame,
  };
  readonly claimed: WeakSet<object> = new WeakSet();
  readonly unreached: Set<string> = new Set();
  tools: ToolPort | undefined;
  /** Of a run: told of a signal that ends it. Does not throw. */
  onDying: ((signal: NodeJS.Signals) => void) | undefined;
  recorded = 0;

  readonly #config: InstrumentConfig;
  readonly #faults: Faults;
  readonly #loadSink: () => WireSink;
  #sink: WireSink | undefined;
  #sinkFailed = false;
  #late: LateExchange[] = [];
  #exit: ExitHooks | undefined;
  #undo: (() => void)[] = [];

  constructor(config: InstrumentConfig, faults: Faults, loadSink: () => WireSink) {
    this.#config = config;
    this.#faults = faults;
    this.#loadSink = loadSink;
  }

  /** The whole program is to be run again. */
  get isRun(): boolean {
    return this.#config.mode === 'run';
  }

  /** Loads the recorder now: nothing of a run may wait for it. */
  begin(): void {
    this.#useSink();
  }

  /** A record of the run. */
  record(record: RunRecord): void {
    try {
      this.#useSink()?.run?.(record);
    } catch (error) {
      this.fault('recording the run', error);
    }
  }

  /** Whether a content has a secret in it that the recorder knows; without one to ask, any may have. */
  holdsSecret(bytes: Uint8Array): boolean {
    try {
      return this.#useSink()?.holdsSecret?.(bytes) ?? true;
    } catch (error) {
      this.fault('searching a file', error);
      return true;
    }
  }

  get faults(): FaultCounts {
    return this.#faults.counts;
  }

  /** Adds something to be undone by `uninstall`. */
  onUninstall(undo: () => void): void {
    this.#undo.push(undo);
  }

  uninstall(): void {
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        undo();
      } catch (error) {
        this.fault('taking a hook out', error);
      }
    }
    this.#exit?.uninstall();
    const holder = globalThis as { [RUNTIME]?: Runtime };
    if (holder[RUNTIME] === this) delete holder[RUNTIME];
  }

  suppressed(): boolean {
    return currentScope().suppressed === true;
  }

  suppress<T>(fn: () => T): T {
    return runInScope({ suppressed: true }, fn);
  }

  recognise(method: string, url: string, contentType?: string, userAgent?: string): Verdict {
    const { urls } = this.#config;
    if (!urls.empty && !this.isRun) {
      const said = urls.match(url);
      if (said === 'exclude') return 'no';
      if (said === 'include') {
        // A request that is an LLM call all the same is recorded as one.
        const known = recogniseRequest(method, url, contentType, userAgent);
        return known === 'llm' || known === 'maybe' ? 'llm' : 'http';
      }
    }
    const verdict = recogniseRequest(method, url, contentType, userAgent);
    // Whatever the program asked for is needed to run it again.
    if (this.isRun) return verdict === 'no' ? 'http' : 'llm';
    if (verdict === 'no' && method === 'POST') this.hosts.seen(url, contentType);
    return verdict;
  }

  context(): ReturnType<typeof callContext> {
    return callContext();
  }

  open(start: WireExchangeStart): WireExchange | undefined {
    if (this.#sinkFailed) return undefined;
    if (!this.#sink) return this.#openLate(start);
    try {
      const exchange = this.#sink.open(start);
      this.recorded++;
      return exchange;
    } catch (error) {
      this.fault('opening an exchange', error);
      return undefined;
    }
  }

  /** One of the first requests is about to leave: what is held of it must be on record first. */
  leaving(when: Leaving): void {
    if (this.#late.length === 0) return;
    // The connection is on its way: it is made while the recorder loads.
    if (when === 'soon') nextTick(() => this.#useLateSink());
    else this.#useSink();
  }

  /**
   * The first exchanges of a process: the recorder is loaded at the end of this turn of the event loop, when the
   * connection is on its way, so that loading it holds no request back; sooner only where the request leaves sooner.
   */
  #openLate(start: WireExchangeStart): WireExchange {
    if (this.#late.length === 0) setImmediate(() => this.#useLateSink());
    this.#useExitHooks();
    const exchange = new LateExchange(start);
    this.#late.push(exchange);
    this.recorded++;
    return exchange;
  }

  tool(run: WrappedToolRun): void {
    try {
      this.#useSink()?.tool(run);
    } catch (error) {
      this.fault('recording a tool run', error);
    }
  }

  setLevel(level: Level): void {
    try {
      this.#useSink()?.setLevel?.(level);
    } catch (error) {
      this.fault('setting the level', error);
    }
  }

  level(): Level {
    try {
      const sink = this.#useSink();
      return sink ? (sink.level?.() ?? this.#config.level) : 'off';
    } catch (error) {
      this.fault('asking for the level', error);
      return 'off';
    }
  }

  traceHere(): { traceId: string; spanId?: string } | undefined {
    try {
      return this.#sink?.traceOf?.(callContext());
    } catch (error) {
      this.fault('asking for a trace', error);
      return undefined;
    }
  }

  dropped(start: WireExchangeStart): void {
    this.hosts.seen(start.url, 'application/json');
  }

  fault(place: string, error: unknown): void {
    this.#faults.note(place, error);
  }

  warn(message: string): void {
    this.#faults.warn(message);
  }

  async flush(timeoutMs: number): Promise<void> {
    this.#useLateSink();
    try {
      await this.#sink?.flush(timeoutMs);
    } catch (error) {
      this.fault('flushing', error);
    }
  }

  /** Ends what waits for a reader: with nothing left to do, the program will not be one any more. */
  endUnread(): void {
    for (const tap of [...this.openTaps]) {
      if (tap.headSeen && tap.isPaused()) tap.end({ ending: 'caller_stopped_reading', stage: tap.stage });
    }
  }

  dying(signal: NodeJS.Signals): void {
    this.onDying?.(signal);
  }

  /** Ends what is open and writes everything down; the process is about to end. */
  flushSync(timeoutMs: number): void {
    this.endUnread();
    for (const tap of [...this.openTaps]) tap.end({ ending: 'process_exit', stage: tap.stage });
    this.#flushSinkSync('process_exit', timeoutMs);
  }

  /** Writes everything down; the program goes on, or may. */
  flushSinkSync(timeoutMs: number): void {
    this.#flushSinkSync('signal', timeoutMs);
  }

  #flushSinkSync(ending: 'process_exit' | 'signal', timeoutMs: number): void {
    this.#useLateSink();
    try {
      this.#sink?.flushSync(ending, timeoutMs);
    } catch (error) {
      this.fault('flushing at exit', error);
    }
  }

  #useLateSink(): void {
    if (this.#late.length > 0) this.#useSink();
  }

  #useExitHooks(): void {
    this.#exit ??= installExitHooks(this, this.#config.exitFlushMs);
  }

  #useSink(): WireSink | undefined {
    if (this.#sink || this.#sinkFailed) return this.#sink;
    try {
      this.#useExitHooks();
      this.#sink = this.#loadSink();
      if (this.#sink.needsNoFlush === true) this.#exit?.uninstall();
    } catch (error) {
      this.#sinkFailed = true;
      this.#faults.note('loading the recorder', error);
    }
    for (const exchange of this.#late.splice(0)) {
      try {
        exchange.attach(this.#sink);
      } catch (error) {
        this.fault('opening an exchange', error);
      }
    }
    return this.#sink;
  }
}
