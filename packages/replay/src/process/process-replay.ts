/** Replays one thread of a run within the program itself. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { Ending, OutputDigest } from '@orangebox/schema';
import type { DivergenceContext, MatchedEvent } from '../divergence/types.ts';
import { createMatcher } from '../matching/matcher.ts';
import type { Matcher, MatchRule, MatchRung, Missed, RecordedRequest } from '../matching/types.ts';
import { isSamePlace, isTo } from './addresses.ts';
import { AskedExchange, scopeOf, type AskedStart } from './asked-exchange.ts';
import { compared, compareEnvironment } from './compared-facts.ts';
import { DeliveryQueue, type QueueHost } from './delivery-queue.ts';
import { DrawReplay, textOf } from './draw-replay.ts';
import { platform } from './platform.ts';
import type { ProcessReport } from './process-report.ts';
import type { RecordedRun } from './recorded-run.ts';
import { refuseNetwork } from './refused-network.ts';
import type { Peer, ReplaySocket } from './replay-socket.ts';
import { recordedError, ResponseBytes } from './response-bytes.ts';
import {
  countBefore,
  neverConnected,
  neverSent,
  orderOf,
  type RunAct,
  type RunEvent,
  type RunOrder,
  wordsOf,
} from './run-events.ts';
import { ServedChildren } from './served-children.ts';
import { VirtualTimers } from './virtual-timers.ts';

/** What a replay is told. */
export interface ProcessReplayOptions {
  run: RecordedRun;
  rules: readonly MatchRule[];
  /** Facts of this process, for the comparison with the recorded one's. */
  live: NonNullable<ProcessReport['live']>;
  /** Ends the process with this report; called once. */
  stop: (report: ProcessReport) => void;
  /** Makes the explanation of a divergence. */
  explain: (context: DivergenceContext) => NonNullable<ProcessReport['divergence']>;
}

/** Events that are kept for an explanation. */
const KEPT_EVENTS = 10;
const KEPT_ANSWERS = 50;
const MAX_ANSWER_CHARS = 256 * 1024;

/** The replay of a thread: what stands behind the taps and hooks. */
export class ProcessReplay implements QueueHost {
  readonly draws: DrawReplay;
  readonly timers: VirtualTimers = new VirtualTimers();
  readonly children: ServedChildren;
  readonly #options: ProcessReplayOptions;
  readonly #run: RecordedRun;
  readonly #order: RunOrder;
  readonly #queue: DeliveryQueue;
  readonly #matcher: Matcher;
  /** Recorded requests by the matcher's index. */
  readonly #requests: RecordedRequest[];
  readonly #exchanges: ExchangeRecords[];
  readonly #asked: Set<AskedExchange> = new Set();
  readonly #byRecorded: Map<ExchangeRecords, AskedExchange> = new Map();
  readonly #bytes: Map<ExchangeRecords, ResponseBytes> = new Map();
  readonly #refused: Map<string, number> = new Map();
  readonly #matched: MatchedEvent[] = [];
  readonly #answers: { index: number; text: string }[] = [];
  /** Servers that requests went to. */
  readonly #peers: Set<string> = new Set();
  /** Requests begun so far. */
  #begun = 0;
  #steps = 0;
  #moves = 0;
  #extra = 0;
  #refusedAsRecorded = 0;
  #fewerDrawsBefore: number | undefined;
  #isOver = false;

  constructor(options: ProcessReplayOptions) {
    this.#options = options;
    this.#run = options.run;
    this.#order = orderOf(options.run);
    this.#exchanges = options.run.exchanges.filter((exchange) => !neverSent(exchange));
    this.#requests = this.#exchanges.map((exchange, index) => this.#recordedRequest(exchange, index));
    this.#matcher = createMatcher(this.#requests, { rules: options.rules });
    this.draws = new DrawReplay(options.run.draws, (recorded, live, from) => this.#matcher.learn(recorded, live, from));
    this.#queue = new DeliveryQueue(this.#order, this);
    this.children = new ServedChildren(options.run.children, {
      served: (record) => {
        this.#moves++;
        this.#steps++;
        const act = this.#queue.find((one) => one.kind === 'spawn' && one.child === record);
        if (act) this.#queue.did(act);
        this.#note({ event: record.seq, scope: [], what: `child process ${[record.file, ...record.argv].join(' ')}` });
      },
      unknown: (detail, differences) =>
        this.#diverge({ kind: 'environment', event: this.#queue.position, scope: [], detail, differences }),
    });
  }

  /** Closes the ways out and begins to give what is on record. */
  begin(): void {
    refuseNetwork({
      isExpected: (peer) => this.#isExpected(peer),
      opened: (socket) => this.#opened(socket),
      refused: (what) => {
        this.#moves++;
        this.#refused.set(what, (this.#refused.get(what) ?? 0) + 1);
      },
    });
    this.#queue.start();
  }

  /** What the taps hand their exchanges to. */
  open(start: AskedStart): AskedExchange {
    this.#moves++;
    const asked = new AskedExchange(start, {
      whole: (whole) => this.#match(whole),
      ended: (ended, ending) => this.#ended(ended, ending),
      moved: () => void this.#moves++,
    });
    this.#asked.add(asked);
    const recorded = this.#run.exchanges[this.#begun++];
    // Of a request that never went out whole there is nothing to compare, and nothing that could be given for it by mistake.
    if (recorded && neverSent(recorded) && isSamePlace(recorded, start)) {
      if (neverConnected(recorded)) this.#refusedAsRecorded++;
      this.#matchedWith(asked, recorded);
    }
    return asked;
  }

  /** The process ends by itself. */
  ended(end: { exitCode: number; stdout: OutputDigest; stderr: OutputDigest }): void {
    if (this.#isOver) return;
    const { undone } = this.#queue;
    const missing = undone.find((act) => act.kind !== 'cancel');
    // What was given up at the end was not asked for again either.
    if (missing) {
      this.#diverge({
        kind: 'missing',
        event: missing.seq,
        scope: missing.kind === 'spawn' ? [] : scopeOf(missing.exchange.start.scope),
        detail: `the program ended without ${wordsOf(missing)}`,
        consequences: undone.slice(1).map((act) => `not done: ${wordsOf(act)}`),
      });
      return;
    }
    this.#isOver = true;
    this.#queue.stop();
    this.#options.stop({ ...this.#report(), end });
  }

  // What the queue asks.

  isReady(event: RunEvent): boolean {
    switch (event.kind) {
      case 'head':
      case 'chunk':
      case 'end':
        return this.#isExchangeReady(event.exchange);
      case 'timer':
        return this.timers.waiting(event.timer) !== undefined;
      case 'child':
        return this.children.isLive(event.child);
    }
  }

  release(events: readonly RunEvent[]): void {
    const [first] = events;
    if (!first) return;
    if (first.kind === 'timer') {
      this.#fire(first);
      return;
    }
    if (first.kind === 'child') this.children.give(first.child, first.event);
    else this.#deliver(first.exchange, events);
  }

  nextDraw(): number | undefined {
    return this.draws.nextSeq;
  }

  activity(): number {
    return this.#moves + this.draws.count + this.timers.changes;
  }

  missing(act: RunAct | undefined, event: RunEvent): void {
    if (act) {
      const isCancel = act.kind === 'cancel';
      this.#diverge({
        kind: isCancel ? 'changed_cancel' : 'missing',
        event: act.seq,
        scope: act.kind === 'spawn' ? [] : scopeOf(act.exchange.start.scope),
        detail: isCancel
          ? `the recorded program gave up on ${wordsOf(act)} here; this one waits`
          : `the program waits, and has not made ${wordsOf(act)}`,
      });
      return;
    }
    if (event.kind === 'timer') {
      const { kind, delayMs, timerId, at } = event.timer;
      this.#diverge({
        kind: 'tick_drift',
        event: event.seq,
        scope: [],
        detail: `no ${kind} waits where timer ${timerId} (${delayMs} ms${at === undefined ? '' : `, ${at}`}) fired when it was recorded`,
      });
      return;
    }
    this.#diverge({
      kind: event.kind === 'child' ? 'environment' : 'changed_cancel',
      event: event.seq,
      scope: event.kind === 'child' ? [] : scopeOf(event.exchange.start.scope),
      detail: 'the program is not where it can be given what came next',
    });
  }

  fewerDraws(event: RunEvent): void {
    this.#fewerDrawsBefore ??= event.seq;
  }

  // Requests.

  #recordedRequest(exchange: ExchangeRecords, index: number): RecordedRequest {
    const { start, requestHead, requestChunks } = exchange;
    const seq = start.seq ?? 0;
    return {
      index,
      attempt: this.#run.attempts.get(start.exchangeId) ?? 0,
      ref: start.trace.spanId,
      scope: scopeOf(start.scope),
      method: start.method,
      url: start.url,
      headers: requestHead?.headers ?? [],
      body: Buffer.concat(requestChunks.map(({ bytes }) => bytes)),
      deliveriesBefore: countBefore(this.#order.events, seq),
    };
  }

  #match(asked: AskedExchange): void {
    this.#moves++;
    if (this.#isOver || asked.recorded) return;
    const { request } = asked;
    const result = this.#matcher.match(request);
    if (result.kind === 'missed') {
      this.#miss(asked, result);
      return;
    }
    const recorded = this.#exchanges[result.index];
    if (recorded) this.#matchedWith(asked, recorded, result.rung);
  }

  #matchedWith(asked: AskedExchange, recorded: ExchangeRecords, rung?: MatchRung): void {
    asked.recorded = recorded;
    this.#byRecorded.set(recorded, asked);
    this.#steps++;
    const act = this.#queue.find((one) => one.kind === 'request' && one.exchange === recorded);
    if (act) this.#queue.did(act);
    const { method, url, scope, seq } = recorded.start;
    this.#note({ event: seq ?? 0, scope: scopeOf(scope), what: `${method} ${url}`, ...(rung ? { rung } : {}) });
  }

  #note(event: MatchedEvent): void {
    this.#matched.push(event);
    if (this.#matched.length > KEPT_EVENTS) this.#matched.shift();
  }

  #miss(asked: AskedExchange, miss: Missed): void {
    const isExtra = miss.reason === 'extra';
    if (isExtra) this.#extra++;
    const { reason } = miss;
    this.#diverge({
      kind: reason === 'changed' ? 'changed_request' : reason,
      event: this.#queue.next?.seq ?? this.#queue.position,
      scope: asked.request.scope,
      asked: asked.request,
      miss,
    });
  }

  /** The client is done with an exchange: as it was recorded, or by itself. */
  #ended(asked: AskedExchange, ending: Ending): void {
    this.#moves++;
    this.#asked.delete(asked);
    if (this.#isOver || asked.isEndGiven || ending === 'process_exit') return;
    const { recorded } = asked;
    if (!recorded) return;
    const act = this.#queue.find((one) => one.kind === 'cancel' && one.exchange === recorded);
    if (act) {
      this.#queue.did(act);
      return;
    }
    // At its end, a program lets go of what it did not read.
    if (this.#queue.next === undefined) return;
    this.#diverge({
      kind: 'changed_cancel',
      event: recorded.end?.delivery ?? this.#queue.position,
      scope: scopeOf(recorded.start.scope),
      detail: `the program gave up on ${recorded.start.method} ${recorded.start.url}, which it had read to its end when it was recorded`,
    });
  }

  // Connections.

  #isExpected(peer: Peer): boolean {
    // A client may open more connections to a server than it has requests for; they stay silent.
    return this.#waitingFor(peer) !== undefined || this.#peers.has(`${peer.secure} ${peer.host}:${peer.port}`);
  }

  #waitingFor(peer: Peer): AskedExchange | undefined {
    for (const asked of this.#asked) {
      if (!asked.connection && !asked.isEnded && isTo(asked.start.url, peer)) return asked;
    }
    return undefined;
  }

  #opened(socket: ReplaySocket): void {
    this.#moves++;
    this.#peers.add(`${socket.peer.secure} ${socket.peer.host}:${socket.peer.port}`);
    // No connection is there in the turn that asks for it; and in the next one it is known which request it is for.
    platform.setImmediate(() => {
      const asked = this.#waitingFor(socket.peer);
      if (!asked?.recorded || !neverConnected(asked.recorded)) socket.establish();
      // The refusal comes in its place of the order.
      else asked.connection = socket;
    });
  }

  // Giving.

  #isExchangeReady(exchange: ExchangeRecords): boolean {
    const asked = this.#byRecorded.get(exchange);
    return asked !== undefined && !asked.isEnded && asked.connection !== undefined;
  }

  #fire(event: RunEvent & { kind: 'timer' }): void {
    const timer = this.timers.waiting(event.timer);
    if (!timer) return;
    const { kind, delayMs, timerId } = event.timer;
    if (timer.kind !== kind || timer.delayMs !== delayMs) {
      this.#diverge({
        kind: 'tick_drift',
        event: event.seq,
        scope: [],
        detail: `timer ${timerId} is a ${timer.kind} of ${timer.delayMs} ms (${timer.at}), and was a ${kind} of ${delayMs} ms (${event.timer.at ?? 'unknown'})`,
      });
      return;
    }
    timer.fire();
  }

  #deliver(exchange: ExchangeRecords, events: readonly RunEvent[]): void {
    const asked = this.#byRecorded.get(exchange);
    const socket = asked?.connection;
    if (!asked || !socket) return;
    let bytes = this.#bytes.get(exchange);
    if (!bytes) this.#bytes.set(exchange, (bytes = new ResponseBytes(exchange)));
    const parts: Uint8Array[] = [];
    let isEnd = false;
    for (const event of events) {
      if (event.kind === 'head') parts.push(bytes.head());
      else if (event.kind === 'chunk') parts.push(bytes.chunk(event.chunk.bytes));
      else if (event.kind === 'end') isEnd = true;
    }
    if (!isEnd) {
      socket.receive(Buffer.concat(parts));
      return;
    }
    this.#served(exchange);
    asked.isEndGiven = true;
    const { end } = exchange;
    if (end?.ending === 'complete') {
      parts.push(bytes.end());
      const whole = Buffer.concat(parts);
      if (whole.length > 0) socket.receive(whole);
      if (bytes.closes) socket.finish();
      return;
    }
    if (parts.length > 0) socket.receive(Buffer.concat(parts));
    // A server that closes in order leaves no error of the platform's behind.
    if (end?.error?.code === 'UND_ERR_SOCKET' || end?.error?.message === 'socket hang up') socket.finish();
    else socket.break(recordedError(exchange));
  }

  /** Values in an answer stand for themselves from now on. */
  #served(exchange: ExchangeRecords): void {
    const bytes = Buffer.concat(exchange.responseChunks.map((chunk) => chunk.bytes));
    if (bytes.length > MAX_ANSWER_CHARS) return;
    const text = bytes.toString('utf8');
    this.#matcher.noteServed(text);
    this.#answers.push({ index: this.#exchanges.indexOf(exchange), text });
    if (this.#answers.length > KEPT_ANSWERS) this.#answers.shift();
  }

  // Verdicts.

  #diverge(context: Omit<DivergenceContext, 'step'>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#queue.stop();
    const { start, draws } = this.#run;
    const { environment } = this.#options.live;
    const divergence = this.#options.explain({
      step: this.#steps + 1,
      recorded: this.#requests,
      matched: this.#matched,
      answers: this.#answers,
      recordedDraws: draws
        .filter(({ seq }) => seq <= context.event)
        .map(({ seq, source, value, at }) => ({
          seq,
          source,
          value: textOf(value),
          ...(at === undefined ? {} : { at }),
        })),
      liveDraws: this.draws.live,
      environment: compareEnvironment(start.environment, environment),
      files: compared(this.#options.live.argv[0] ?? 'entry', start.entryDigest, this.#options.live.entryDigest),
      versions: compared('node', start.node, this.#options.live.node),
      run: start.runId,
      ...context,
    });
    this.#options.stop({ ...this.#report(), divergence });
  }

  #report(): ProcessReport {
    const { rungs, rules, remaining } = this.#matcher.report();
    return {
      threadId: this.#options.live.threadId,
      live: this.#options.live,
      rungs,
      rules,
      extra: this.#extra,
      missing: remaining.length,
      refused: [...this.#refused].map(([what, count]) => ({ what, count })),
      liveConnections: process.getActiveResourcesInfo().filter((name) => /^(?:TCP(?:Socket|Connect)|UDP)/.test(name))
        .length,
      processesServed: this.children.served,
      refusedAsRecorded: this.#refusedAsRecorded,
      draws: {
        count: this.draws.count,
        extra: this.draws.extra,
        ...(this.#fewerDrawsBefore === undefined ? {} : { fewerBefore: this.#fewerDrawsBefore }),
      },
      eventsGiven: this.#queue.released,
    };
  }
}
