/**
 * The one queue of all that comes to the program: answers, timers, output of child processes, in recorded order. An event is
 * released only when everything before it was, and the program has done all that it had done before it when it was recorded.
 * If the program is quiescent and has not, what it did not do is the verdict.
 */
import { platform } from './platform.ts';
import type { RunAct, RunEvent, RunOrder } from './run-events.ts';

/** What the queue asks of who gives the events to the program. */
export interface QueueHost {
  /** Whether the program is where the event can be given: asked, timer made, child started. Or why it never will be. */
  isReady(event: RunEvent): boolean;
  /** Gives events that came in one turn; the first begins it. */
  release(events: readonly RunEvent[]): void;
  /** Place of the earliest recorded outside value that was not drawn. */
  nextDraw(): number | undefined;
  /** Whether another thread may bring the event yet, which takes it as long as it takes. */
  mayCome(event: RunEvent): boolean;
  /** Changes with whatever the program does that the queue is not told of. */
  activity(): number;
  /** Work goes on of which the program sees something meanwhile: nothing else may come. */
  isWorking(): boolean;
  /** Work of the platform that the program does not have done here. */
  pass(event: RunEvent): void;
  /** The program is quiescent: where nothing keeps it going, it is told so, as the platform would. Whether it was. */
  tellIdle(): boolean;
  /** The program is quiescent and did not do what the recorded one had done before this event. */
  missing(act: RunAct | undefined, event: RunEvent): void;
  /** How long an event that could be given is to wait still, in milliseconds. */
  waitMs(event: RunEvent): number;
  /** Fewer outside values were drawn before this event than on record. */
  fewerDraws(event: RunEvent): void;
}

/** A program that does nothing for so long, with nothing under way that is seen, waits for something. */
const QUIET_MS = 1000;
/** And as many turns of its event loop. */
const QUIET_TURNS = 100;
/** Work of the platform's threads that is seen may take longer. */
const BUSY_QUIET_MS = 30_000;
/** Looks in each turn of the event loop before it is looked at once a millisecond. */
const EAGER_LOOKS = 64;
/** A process that takes more of a processor than this computes. */
const BUSY_SHARE = 0.2;
/** The platform's timers take no longer ones than some days, and a recording may say anything. */
const LONGEST_WAIT_MS = 60_000;
const THREAD_WORK: ReadonlySet<string> = new Set(['FSReqCallback', 'FSReqPromise', 'CloseReq', 'FileHandleCloseReq']);

/** Releases the events of a thread. */
export class DeliveryQueue {
  readonly #events: readonly RunEvent[];
  readonly #acts: readonly RunAct[];
  readonly #done: Set<RunAct> = new Set();
  readonly #host: QueueHost;
  #nextEvent = 0;
  #nextAct = 0;
  #waitsForDraws = true;
  #passesWork = false;
  #activity = -1;
  #activeAtMs = 0;
  #windowAtMs = 0;
  #windowCpuMs = 0;
  #windowTurns = 0;
  #looks = 0;
  #isStopped = false;

  constructor(order: RunOrder, host: QueueHost) {
    this.#events = order.events;
    this.#acts = order.acts;
    this.#host = host;
  }

  /** Events released so far. */
  get released(): number {
    return this.#nextEvent;
  }

  /** The next event; undefined where all were released. */
  get next(): RunEvent | undefined {
    return this.#events[this.#nextEvent];
  }

  /** Place in the order of the process that the program has come to. */
  get position(): number {
    return this.#events[this.#nextEvent - 1]?.seq ?? 0;
  }

  /** Acts that the program has not done. */
  get undone(): RunAct[] {
    return this.#acts.slice(this.#nextAct).filter((act) => !this.#done.has(act));
  }

  start(): void {
    this.#soon();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** The program did something that is on record. */
  did(act: RunAct): void {
    this.#done.add(act);
    while (this.#acts[this.#nextAct] && this.#done.has(this.#acts[this.#nextAct] as RunAct)) this.#nextAct++;
  }

  /** The recorded act of this kind, where it has not been done. */
  find(is: (act: RunAct) => boolean): RunAct | undefined {
    for (let i = this.#nextAct; i < this.#acts.length; i++) {
      const act = this.#acts[i] as RunAct;
      if (!this.#done.has(act) && is(act)) return act;
    }
    return undefined;
  }

  #soon(): void {
    if (this.#isStopped || this.#nextEvent >= this.#events.length) return;
    if (this.#looks++ < EAGER_LOOKS) platform.setImmediate(() => this.#look());
    else platform.setTimeout(() => this.#look(), 1);
  }

  #look(): void {
    const event = this.next;
    if (this.#isStopped || !event) return;
    if (this.#host.isWorking()) {
      this.#soon();
      return;
    }
    const act = this.#acts[this.#nextAct];
    const missing = act !== undefined && act.seq < event.seq ? act : undefined;
    const isReady = missing === undefined && this.#host.isReady(event);
    const nextDraw = this.#waitsForDraws ? this.#host.nextDraw() : undefined;
    const drawsAreDone = nextDraw === undefined || nextDraw > event.seq;
    const waitMs = isReady ? this.#host.waitMs(event) : 0;
    if (waitMs > 0) {
      // Nobody waits for the program meanwhile.
      this.#activity = -1;
      platform.setTimeout(() => this.#look(), Math.min(waitMs, LONGEST_WAIT_MS));
      return;
    }
    // A signal came when it came: what the program had done by then, it is given the time for.
    if (isReady && drawsAreDone && (event.kind !== 'signal' || this.#isQuiet())) {
      this.#release();
      return;
    }
    // What the platform does beside the program is no verdict where it is not done; it is waited for once.
    const isPassed = event.kind === 'work' && missing === undefined && !isReady;
    const isGivenUp = isPassed && this.#passesWork && this.#looks > EAGER_LOOKS && !this.#host.mayCome(event);
    if (!isGivenUp && !this.#isQuiet()) {
      this.#soon();
      return;
    }
    if (isPassed) {
      this.#passesWork = true;
      this.#nextEvent++;
      this.#looks = 0;
      this.#host.pass(event);
      this.#soon();
      return;
    }
    if (isReady) {
      // Another number of draws is worth knowing, and no verdict: the next request tells whether it matters.
      this.#waitsForDraws = false;
      this.#host.fewerDraws(event);
      this.#release();
      return;
    }
    if (this.#host.tellIdle() && this.#host.activity() !== this.#activity) {
      this.#soon();
      return;
    }
    this.#isStopped = true;
    this.#host.missing(missing, event);
  }

  /** Nothing was done for long enough, and nothing is under way. */
  #isQuiet(): boolean {
    const nowMs = platform.nowMs();
    const activity = this.#host.activity();
    if (activity !== this.#activity) {
      this.#activity = activity;
      this.#activeAtMs = nowMs;
      this.#beginWindow(nowMs);
      this.#looks = 0;
      return false;
    }
    const windowMs = nowMs - this.#windowAtMs;
    // On a machine that is busy with others time passes, and the program had none of it.
    this.#windowTurns++;
    if (windowMs < QUIET_MS || this.#windowTurns < QUIET_TURNS) return false;
    if (nowMs - this.#activeAtMs > BUSY_QUIET_MS) return true;
    if (this.next && this.#host.mayCome(this.next)) return false;
    // Compression, hashes and other threads are seen by the time that they take only.
    const isComputing = platform.cpuMs() - this.#windowCpuMs > BUSY_SHARE * windowMs;
    if (!isComputing && !process.getActiveResourcesInfo().some((name) => THREAD_WORK.has(name))) return true;
    this.#beginWindow(nowMs);
    return false;
  }

  #beginWindow(nowMs: number): void {
    this.#windowAtMs = nowMs;
    this.#windowCpuMs = platform.cpuMs();
    this.#windowTurns = 0;
  }

  #release(): void {
    const from = this.#nextEvent++;
    while (this.#events[this.#nextEvent]?.startsTurn === false && this.#isTogether(from)) this.#nextEvent++;
    this.#looks = 0;
    this.#activity = -1;
    // A listener of the program may throw: the queue goes on as the event loop does.
    this.#soon();
    this.#host.release(this.#events.slice(from, this.#nextEvent));
  }

  /** What follows in the same turn is given with it, where it can be given already. */
  #isTogether(from: number): boolean {
    const event = this.#events[this.#nextEvent] as RunEvent;
    const first = this.#events[from] as RunEvent;
    // Timers and children have turns of their own; of answers, what one exchange gave together is given together.
    return 'exchange' in event && 'exchange' in first && event.exchange === first.exchange;
  }
}
