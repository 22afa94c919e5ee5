/** Requests of the program, each matched with the recorded one that it is. */
import type { ExchangeRecords } from '@orangebox/codec';
import type { Ending } from '@orangebox/schema';
import { createMatcher } from '../matching/matcher.ts';
import type { AskedRequest, Matcher, MatchRule, MatchRung, Missed, RecordedRequest } from '../matching/types.ts';
import { isSamePlace, isTo } from './addresses.ts';
import { AskedExchange, type AskedStart, scopeOf } from './asked-exchange.ts';
import type { Course } from './course.ts';
import type { PathPair } from './files/path-pair.ts';
import type { RecordedRun } from './recorded-run.ts';
import type { Peer } from './replay-socket.ts';
import { countBefore, neverConnected, neverSent, type RunOrder } from './run-events.ts';
import type { Verdicts } from './verdicts.ts';

/** The requests of a thread. */
export class AskedRequests {
  /** The recorded requests, by the matcher's index. */
  readonly recorded: readonly RecordedRequest[];
  readonly matcher: Matcher;
  /** Asked for, and not on record. */
  extra = 0;
  /** Recorded ones that found no connection, and found none again. */
  refusedAsRecorded = 0;
  readonly #exchanges: readonly ExchangeRecords[];
  readonly #indices: ReadonlyMap<ExchangeRecords, number>;
  /** All of the thread, those too that never went out. */
  readonly #all: readonly ExchangeRecords[];
  readonly #course: Course;
  readonly #paths: PathPair | undefined;
  readonly #verdicts: Verdicts;
  readonly #open: Set<AskedExchange> = new Set();
  readonly #byRecorded: Map<ExchangeRecords, AskedExchange> = new Map();
  #begun = 0;

  constructor(
    run: RecordedRun,
    order: RunOrder,
    {
      rules,
      course,
      verdicts,
      paths,
    }: { rules: readonly MatchRule[]; course: Course; verdicts: Verdicts; paths: PathPair | undefined },
  ) {
    this.#all = run.exchanges;
    this.#exchanges = run.exchanges.filter((exchange) => !neverSent(exchange));
    this.#indices = new Map(this.#exchanges.map((exchange, index) => [exchange, index]));
    this.recorded = this.#exchanges.map((exchange, index) => ({
      ...requestOf(exchange),
      index,
      attempt: run.attempts.get(exchange.start.exchangeId) ?? 0,
      deliveriesBefore: countBefore(order.events, exchange.start.seq ?? 0),
    }));
    this.matcher = createMatcher(this.recorded, { rules });
    this.#course = course;
    this.#paths = paths;
    this.#verdicts = verdicts;
  }

  /** The matcher's index of a recorded exchange. */
  indexOf(exchange: ExchangeRecords): number {
    return this.#indices.get(exchange) ?? -1;
  }

  /** The request that a recorded exchange answers. */
  askedFor(exchange: ExchangeRecords): AskedExchange | undefined {
    return this.#byRecorded.get(exchange);
  }

  /** Whether the program waits for an answer. */
  get isAnyOpen(): boolean {
    return this.#open.size > 0;
  }

  /** A request that waits for a connection to a peer. */
  waitingFor(peer: Peer): AskedExchange | undefined {
    for (const asked of this.#open) {
      if (!asked.connection && !asked.isEnded && isTo(asked.start.url, peer)) return asked;
    }
    return undefined;
  }

  /** The program begins a request. */
  open(start: AskedStart): AskedExchange {
    this.#course.moved();
    const asked = new AskedExchange(start, {
      whole: (whole) => this.#match(whole),
      ended: (ended, ending) => this.#ended(ended, ending),
      moved: () => this.#course.moved(),
    });
    this.#open.add(asked);
    const recorded = this.#all[this.#begun++];
    // Of a request that never went out whole there is nothing to compare, and nothing that could be given for it by mistake.
    if (recorded && neverSent(recorded) && isSamePlace(recorded, start)) {
      if (neverConnected(recorded)) this.refusedAsRecorded++;
      this.#matched(asked, recorded);
    }
    return asked;
  }

  #match(asked: AskedExchange): void {
    this.#course.moved();
    if (this.#course.isOver || asked.recorded) return;
    const result = this.#verdicts.attempt(() => this.matcher.match(this.#withRecordedPaths(asked.request)));
    if (result === undefined) return;
    if (result.kind === 'missed') {
      this.#missed(asked, result);
      return;
    }
    const recorded = this.#exchanges[result.index];
    if (recorded) this.#matched(asked, recorded, result.rung);
  }

  /** The request as it would be in the working directory of the recording. */
  #withRecordedPaths(request: AskedRequest): AskedRequest {
    const paths = this.#paths;
    if (!paths) return request;
    const url = paths.toRecorded(request.url);
    const body = paths.bytesToRecorded(request.body);
    const headers = request.headers.map(([name, value]): [string, string] => [name, paths.toRecorded(value)]);
    const isSame = url === request.url && body === request.body;
    return isSame && headers.every(([, value], i) => value === request.headers[i]?.[1])
      ? request
      : { ...request, url, body, headers, isMapped: true };
  }

  #matched(asked: AskedExchange, recorded: ExchangeRecords, rung?: MatchRung): void {
    asked.recorded = recorded;
    this.#byRecorded.set(recorded, asked);
    const { method, url, scope, seq } = recorded.start;
    this.#course.did(
      { event: seq ?? 0, scope: scopeOf(scope), what: `${method} ${url}`, ...(rung ? { rung } : {}) },
      (act) => act.kind === 'request' && act.exchange === recorded,
    );
  }

  #missed(asked: AskedExchange, miss: Missed): void {
    const { reason } = miss;
    if (reason === 'extra') this.extra++;
    const { queue } = this.#course;
    this.#verdicts.diverge({
      kind: reason === 'changed' ? 'changed_request' : reason,
      event: queue.next?.seq ?? queue.position,
      scope: asked.request.scope,
      asked: this.#withRecordedPaths(asked.request),
      miss,
    });
  }

  /** The client is done with an exchange: as it was recorded, or by itself. */
  #ended(asked: AskedExchange, ending: Ending): void {
    this.#course.moved();
    this.#open.delete(asked);
    if (this.#course.isOver || asked.isEndGiven || ending === 'process_exit') return;
    const { recorded } = asked;
    if (!recorded) return;
    // A length says that it is whole: the client needs no more, and its end comes in its place.
    if (ending === 'complete' && recorded.end?.ending === 'complete') {
      asked.isWholeEarly = true;
      return;
    }
    const { queue } = this.#course;
    const act = queue.find((one) => one.kind === 'cancel' && one.exchange === recorded);
    if (act) {
      queue.did(act);
      return;
    }
    // At its end, a program lets go of what it did not read.
    if (queue.next === undefined) return;
    this.#verdicts.diverge({
      kind: 'changed_cancel',
      event: recorded.end?.delivery ?? queue.position,
      scope: scopeOf(recorded.start.scope),
      detail: `the program gave up on ${recorded.start.method} ${recorded.start.url}, which it had read to its end when it was recorded`,
    });
  }
}

function requestOf({
  start,
  requestHead,
  requestChunks,
}: ExchangeRecords): Omit<RecordedRequest, 'index' | 'attempt' | 'deliveriesBefore'> {
  return {
    ref: start.trace.spanId,
    scope: scopeOf(start.scope),
    method: start.method,
    url: start.url,
    headers: requestHead?.headers ?? [],
    body: Buffer.concat(requestChunks.map(({ bytes }) => bytes)),
  };
}
