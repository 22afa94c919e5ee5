/** Joins exchanges to calls, and says when a call has ended. */
import { concatBytes } from '@orangebox/codec';
import type { AttemptsBasis } from '@orangebox/schema';
import { joins, waitForSuccessorMs, weaker } from './attempts.ts';
import type { ExchangeRecorder } from './exchange-recorder.ts';
import type { SpanHandle } from './spans.ts';
import { afterMs, cancelTimer, nowMs } from './timers.ts';

/** A call as the program sees it, open until its last attempt has ended. */
export interface OpenCall {
  exchanges: ExchangeRecorder[];
  basis?: AttemptsBasis;
  span: SpanHandle;
}

/** What the tracker works with. */
export interface TrackerHost {
  startSpan(first: ExchangeRecorder): SpanHandle;
  onCallStarted(call: OpenCall): void;
  /** The call is whole: all attempts ended, all records made. Called once, in the order of the ends. */
  onCallEnded(call: OpenCall): void;
  onFault(code: string, error: unknown): void;
}

/** Bodies above this are compared by the length alone. */
const COMPARE_MAX_BYTES = 4 * 1024 * 1024;

/** Knows the calls that are not finished. */
export class CallTracker {
  readonly #host: TrackerHost;
  readonly #exchanges: Set<ExchangeRecorder> = new Set();
  readonly #callOf: Map<ExchangeRecorder, OpenCall> = new Map();
  readonly #open: Set<OpenCall> = new Set();
  readonly #timers: Map<OpenCall, NodeJS.Timeout> = new Map();
  /** Wire and attempts are over; some records are still being made. In the order of their ends. */
  readonly #sealing: Set<OpenCall> = new Set();

  constructor(host: TrackerHost) {
    this.#host = host;
  }

  /** Exchanges whose call is not finished. */
  get openExchanges(): ReadonlySet<ExchangeRecorder> {
    return this.#exchanges;
  }

  opened(exchange: ExchangeRecorder): void {
    this.#exchanges.add(exchange);
  }

  /** The request is known: it continues a waiting call, or is a new one. */
  requestKnown(exchange: ExchangeRecorder): void {
    if (this.#callOf.has(exchange)) return;
    const earlier = this.#findEarlier(exchange);
    if (earlier) {
      cancelTimer(this.#timers.get(earlier.call));
      this.#timers.delete(earlier.call);
      earlier.call.exchanges.push(exchange);
      earlier.call.basis = weaker(earlier.call.basis, earlier.basis);
      this.#callOf.set(exchange, earlier.call);
      return;
    }
    const call: OpenCall = { exchanges: [exchange], span: this.#host.startSpan(exchange) };
    this.#callOf.set(exchange, call);
    this.#open.add(call);
    this.#host.onCallStarted(call);
  }

  ended(exchange: ExchangeRecorder): void {
    const call = this.#callOf.get(exchange);
    if (!call?.exchanges.every((e) => e.isEnded)) return;
    const last = call.exchanges.at(-1);
    const waitMs = last ? waitForSuccessorMs(last, nowMs()) : 0;
    if (waitMs === 0) {
      this.#complete(call);
      return;
    }
    const timer = afterMs(waitMs, () => this.#complete(call));
    timer.unref();
    this.#timers.set(call, timer);
  }

  sealed(exchange: ExchangeRecorder): void {
    const call = this.#callOf.get(exchange);
    if (call && this.#sealing.has(call)) this.#finishSealed();
  }

  /** Ends every call whose exchanges have ended, without waiting for retries. */
  completeWaiting(): void {
    for (const call of [...this.#open]) if (call.exchanges.every((e) => e.isEnded)) this.#complete(call);
  }

  #findEarlier(next: ExchangeRecorder): { call: OpenCall; basis: AttemptsBasis } | undefined {
    for (const call of this.#open) {
      const last = call.exchanges.at(-1);
      // A redirect is followed while the body of its answer still comes.
      if (!last || !(last.isEnded || last.records.responseHead)) continue;
      const first = call.exchanges[0] ?? last;
      const basis = joins(last, next, () => sameBody(first, last, next), first);
      if (basis) return { call, basis };
    }
    return undefined;
  }

  #complete(call: OpenCall): void {
    try {
      cancelTimer(this.#timers.get(call));
      this.#timers.delete(call);
      if (!this.#open.delete(call)) return;
      this.#sealing.add(call);
      this.#finishSealed();
    } catch (error) {
      this.#host.onFault('complete', error);
    }
  }

  /** One whose body is still being decoded holds up those after it: which conversation a call continues depends on the order. */
  #finishSealed(): void {
    for (const call of this.#sealing) {
      if (!call.exchanges.every((e) => e.isSealed)) return;
      this.#sealing.delete(call);
      for (const exchange of call.exchanges) {
        this.#callOf.delete(exchange);
        this.#exchanges.delete(exchange);
      }
      this.#host.onCallEnded(call);
    }
  }
}

/** Whether two requests have the same body; one that did not go out whole has the other's beginning. */
function sameBody(first: ExchangeRecorder, last: ExchangeRecorder, next: ExchangeRecorder): boolean {
  // The first attempt went furthest into the same bytes as any; spilled bodies are told apart by size only.
  const known = last.records.requestEnd ? last : first.records.requestEnd ? first : last;
  const [a, b] = [requestBytes(known), requestBytes(next)];
  if (!a || !b) return true;
  const whole = known.records.requestEnd !== undefined && next.records.requestEnd !== undefined;
  if (whole && a.length !== b.length) return false;
  const length = Math.min(a.length, b.length);
  return Buffer.compare(a.subarray(0, length), b.subarray(0, length)) === 0;
}

function requestBytes(exchange: ExchangeRecorder): Uint8Array | undefined {
  if (exchange.isSpilled || exchange.isMemoryLost) return undefined;
  const chunks = exchange.records.requestChunks;
  const size = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
  return size > COMPARE_MAX_BYTES ? undefined : concatBytes(chunks.map((chunk) => chunk.bytes));
}
