/** Calls whose process died before it could end them: their ends are made from what their exchanges have on record. */
import {
  assembleExchanges,
  buildMeasuredCall,
  type CallFacts,
  ConversationIndex,
  type Described,
  describeCall,
  type ExchangeRecords,
  isConversation,
  type Redactor,
} from '@orangebox/codec';
import {
  type AttemptsBasis,
  type CallEndRecord,
  type Chain,
  type Fidelity,
  type ProcessInfo,
  type SessionRef,
  snapshotKey,
} from '@orangebox/schema';
import { type Attempt, joins, waitForSuccessorMs, weaker } from '../attempts.ts';
import { exchangesForViews } from '../bounded-views.ts';
import { callError, callSummary } from '../call-summary.ts';
import { decodeContent } from '../content-decoding.ts';
import { joinedHeader } from '../joined-header.ts';
import { callSpanFacts, type SpanContentOptions } from '../otel/span-content.ts';
import { callSpanRecords } from '../otel/span-record.ts';
import { readExchangesInBits } from '../record-bits.ts';
import { redactJson } from '../redact-json.ts';
import { sha256Hex } from '../sha256.ts';
import { readBitsLeft } from './record-reader.ts';
import type { OpenExchange, SeriesScan } from './series-scan.ts';
import type { Steps } from './slices.ts';

/** What ends are made with. */
export interface CrashedCallOptions {
  process: ProcessInfo;
  spanContent: SpanContentOptions;
  redactor(): Redactor;
}

/** An exchange without its bodies, as the rules for attempts want it. */
interface Light extends Attempt {
  open: OpenExchange;
  /** What the program said of the place it was called at. */
  place: string;
  requestDigest: string;
  endNano: bigint;
  /** When its head came, or it ended; undefined while its client could not know that it failed. */
  answeredNano: bigint | undefined;
}

interface Group {
  attempts: Light[];
  basis?: AttemptsBasis;
  /** Of its first attempt, among all. */
  order: number;
}

/** Gives the `callEnd` of each call that the scan found open, oldest first. */
export function* endCrashedCalls(
  scan: SeriesScan,
  options: CrashedCallOptions,
  onEnd: (record: CallEndRecord) => void,
): Steps<void> {
  const places = new Map<string, object>();
  const groups: Group[] = [];
  const continuable = new Continuable();
  for (const open of scan.crashed()) {
    const light = yield* lightOf(open, places);
    if (light) join(groups, continuable, light);
  }
  const sessions = new CrashedSessions(scan);
  for (const group of groups) {
    const exchanges: ExchangeRecords[] = [];
    for (const { open } of group.attempts) {
      const exchange = yield* exchangeAt(open);
      if (exchange) exchanges.push(exchange);
    }
    if (exchanges.length === group.attempts.length) onEnd(endOf(exchanges, group.basis, sessions, options));
    yield;
  }
}

/** Reads an exchange back; undefined when its start is damaged or gone. */
function* exchangeAt({ id, locations }: OpenExchange): Steps<ExchangeRecords | undefined> {
  return (yield* readExchangesInBits(locations, readBitsLeft)).find(({ start }) => start.exchangeId === id);
}

function* lightOf(open: OpenExchange, places: Map<string, object>): Steps<Light | undefined> {
  const records = yield* exchangeAt(open);
  if (!records) return undefined;
  const { start, end, responseHead, requestHead } = records;
  const startNano = BigInt(start.startUnixNano);
  // The async place died with the process: what the program said of it stands in for it. Roots have traces of their own.
  const { parentSpanId, traceId } = start.trace;
  const place = JSON.stringify([start.scope, start.session, parentSpanId === undefined ? [] : [traceId, parentSpanId]]);
  const known = places.get(place) ?? {};
  places.set(place, known);
  const answered = end?.offsetNano ?? responseHead?.offsetNano;
  return {
    open,
    place,
    start: { method: start.method, context: { place: known } },
    records: { start, ...(requestHead ? { requestHead } : {}), ...(responseHead ? { responseHead } : {}) },
    wireEnd: end,
    requestDigest:
      records.large?.request?.sha256 ?? sha256Hex(Buffer.concat(records.requestChunks.map(({ bytes }) => bytes))),
    endNano: startNano + BigInt(end?.offsetNano ?? responseHead?.offsetNano ?? 0),
    answeredNano: answered === undefined ? undefined : startNano + BigInt(answered),
  };
}

const placeFit = ({ place }: Light): string => place;
const bodyFit = ({ place, requestDigest }: Light): string => `${requestDigest} ${place}`;

/** Of so many calls alike nobody can tell which one an attempt continues. */
const MAX_ALIKE = 100;

/** Calls that another attempt may follow, by what it must have: the body of the first or last one, or the place of a redirect. */
class Continuable {
  readonly #byFit = new Map<string, Set<Group>>();

  /** Those that `next` might continue, oldest first. */
  fitting(next: Light): Group[] {
    const found = new Set([placeFit(next), bodyFit(next)].flatMap((fit) => [...(this.#byFit.get(fit) ?? [])]));
    return [...found].sort((a, b) => a.order - b.order);
  }

  /** Takes a call in again after each attempt. */
  add(group: Group): void {
    const [first, last] = [group.attempts[0], group.attempts.at(-1)];
    if (!first || !last) return;
    for (const attempt of group.attempts.slice(-2))
      for (const fit of [placeFit(attempt), bodyFit(attempt), bodyFit(first)]) this.#byFit.get(fit)?.delete(group);
    if (last.answeredNano === undefined || waitForSuccessorMs(last, 0) === 0) return;
    const status = last.records.responseHead?.status ?? 0;
    // After a redirect the method may change, and with it the body.
    const fits = status >= 300 && status < 400 ? [placeFit(last)] : [bodyFit(first), bodyFit(last)];
    for (const fit of new Set(fits)) {
      const alike = this.#byFit.get(fit) ?? new Set();
      this.#byFit.set(fit, alike.add(group));
      const [oldest] = alike;
      if (alike.size > MAX_ALIKE && oldest) alike.delete(oldest);
    }
  }
}

/** As one more attempt of the call that it continues, else as a call of its own. */
function join(groups: Group[], continuable: Continuable, next: Light): void {
  for (const group of continuable.fitting(next)) {
    const [first, last] = [group.attempts[0], group.attempts.at(-1)];
    if (!first || !last) continue;
    const nextNano = BigInt(next.records.start.startUnixNano);
    if (last.answeredNano === undefined || nextNano < last.answeredNano) continue;
    const waitMs = waitForSuccessorMs(last, Number(last.endNano / 1_000_000n));
    if (nextNano - last.endNano > BigInt(waitMs) * 1_000_000n) continue;
    const sameBody = (): boolean => [first, last].some(({ requestDigest }) => requestDigest === next.requestDigest);
    const basis = joins(last, next, sameBody, first);
    if (!basis) continue;
    group.attempts.push(next);
    group.basis = weaker(group.basis, basis);
    continuable.add(group);
    return;
  }
  const group = { attempts: [next], order: groups.length };
  groups.push(group);
  continuable.add(group);
}

function endOf(
  exchanges: readonly ExchangeRecords[],
  basis: AttemptsBasis | undefined,
  sessions: CrashedSessions,
  { process, spanContent, redactor }: CrashedCallOptions,
): CallEndRecord {
  const [first, last] = [exchanges[0], exchanges.at(-1)];
  if (!first || !last) throw new Error('a call has exchanges');
  const { kind, trace } = first.start;
  const assembled = assembleExchanges(exchanges);
  const views = kind === 'llm' ? viewsOf(assembled, last, redactor()) : undefined;
  const { session, chain } = sessions.place(first, views);
  const endOffset = BigInt(assembled.exchanges.at(-1)?.endOffsetNano ?? 0);
  const error = callError(last, views);
  // The attempts' ids died with the process; those that are made now are the same whoever makes them.
  const attemptSpanIds =
    exchanges.length > 1 ? exchanges.map((_, i) => sha256Hex(`${trace.spanId} attempt ${i}`).slice(0, 16)) : undefined;
  const facts: CallFacts = {
    kind,
    exchangeIds: exchanges.map(({ start }) => start.exchangeId),
    ...(basis ? { attemptsBasis: basis } : {}),
    ...(attemptSpanIds ? { attemptSpanIds } : {}),
    trace,
    ...(session ? { session } : {}),
    time: {
      startUnixNano: first.start.startUnixNano,
      endUnixNano: String(BigInt(last.start.startUnixNano) + endOffset),
    },
    ...(error ? { error } : {}),
    fidelity: exchanges.some(hasNoBodies) ? NOT_STORED : { level: 'exact' },
  };
  const { snapshot, sizeBytes: bareBytes } = buildMeasuredCall(
    { call: facts, exchanges, process, assembled },
    sha256Hex,
  );
  const { fidelity } = snapshot;
  const key = fidelity === NOT_STORED ? undefined : snapshotKey(snapshot);
  const sizeBytes = bareBytes + (chain ? `,"chain":${JSON.stringify(chain)}`.length : 0);
  const content = { snapshot, sizeBytes, ...(key === undefined ? {} : { key }), ...(views ? { views } : {}) };
  const spanFacts = callSpanFacts({ ...content, nested: false, attemptSpanIds: attemptSpanIds ?? [] }, spanContent);
  return {
    type: 'callEnd',
    ...facts,
    fidelity,
    ...(chain ? { chain } : {}),
    digest: snapshot.digest,
    ...(key === undefined ? {} : { key }),
    sizeBytes,
    summary: callSummary(assembled.exchanges, facts.time, views),
    spans: callSpanRecords(spanFacts, trace, false),
    spansBy: 'orangebox',
  };
}

const NOT_STORED: Fidelity = { level: 'partial', reason: 'no_storage' };

/** The request went out with a body and none of it is on record: the process kept no bodies. */
function hasNoBodies({ requestHead, requestEnd, requestChunks }: ExchangeRecords): boolean {
  const length = Number(joinedHeader(requestHead?.headers, 'content-length') ?? 0);
  return requestEnd !== undefined && length > 0 && requestChunks.length === 0;
}

/** An answer in pieces may spell what none of them holds. */
function viewsOf(
  assembled: ReturnType<typeof assembleExchanges>,
  last: ExchangeRecords,
  redactor: Redactor,
): Described | undefined {
  return redactJson(describeCall({ exchanges: exchangesForViews(assembled) }, decodeContent), redactor, 'response.body')
    .value;
}

/** Sessions of calls whose process died: the declared one, or the one whose conversation they continue. */
class CrashedSessions {
  readonly #scan: SeriesScan;
  readonly #index = new ConversationIndex({ sha256: sha256Hex });

  constructor(scan: SeriesScan) {
    this.#scan = scan;
  }

  place({ start }: ExchangeRecords, views: Described | undefined): { session?: SessionRef; chain?: Chain } {
    const declared = start.session;
    if (!views || !isConversation(views.call)) return declared ? { session: this.#ref(declared, 'declared') } : {};
    const where = { traceId: start.trace.traceId, target: `${start.url} ${views.call.requestModel ?? ''}` };
    const found = this.#index.match(views.request, where);
    const { before } = found;
    const continued =
      found.kind === 'continues'
        ? found.call.session
        : before === undefined
          ? undefined
          : this.#scan.sessionByChain.get(before);
    // One that everybody who recovers this call gives it.
    const id = declared?.id ?? continued ?? sha256Hex(`session of ${start.trace.spanId}`).slice(0, 32);
    const basis = declared ? 'declared' : found.kind === 'ambiguous' ? 'ambiguous' : 'inferred';
    const after = this.#index.after(views.request, views.response);
    this.#index.add({ ...where, id: start.trace.spanId, session: id }, views.request, views.response);
    const chain = { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
    return {
      session: this.#ref({ ...declared, id }, basis),
      ...(before === undefined && after === undefined ? {} : { chain }),
    };
  }

  #ref({ id, userId }: { id: string; userId?: string }, basis: SessionRef['basis']): SessionRef {
    const seq = this.#scan.callsOfSession.get(id) ?? 0;
    this.#scan.callsOfSession.set(id, seq + 1);
    return { id, seq, basis, ...(userId === undefined ? {} : { userId }) };
  }
}
