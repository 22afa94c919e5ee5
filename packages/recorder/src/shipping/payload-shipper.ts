/**
 * Sends snapshots to the payload endpoint. The segment is the spool: an item that waits here is a few words, and its
 * bytes are read again for every try. What is not sent when the process ends stays in the segment.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { SNAPSHOT_KEY_PATTERN } from '@orangebox/schema';
import type { RecorderConfig } from '../config.ts';
import { hidden } from '../otel/application-api.ts';
import { messageOf } from '../report.ts';
import type { Shipper, ShipperHost, ShipperStats, ShipItem } from '../shipper.ts';
import { wasRemovedByBound } from '../retention/moved-records.ts';
import { createExitWatch } from './exit-watch.ts';
import { createPacing, type Pacing } from './pacing.ts';
import { createGatheredItems, type GatheredItems, type LoadedItem, mayShare } from './gathered-items.ts';
import { Abandoned, heldBytes, isLarge, payloadFor } from './large-items.ts';
import { onlyPartOf, partsOf, type Payload } from './parts.ts';
import { createTransport, type SendOutcome, type Transport } from './transport.ts';
import { createWaitingItems, FAILURES_BEFORE_YIELDING, newItem, type WaitingItem } from './waiting-items.ts';
import { afterMs, cancelTimer, nextTurn, nowMs } from '../timers.ts';

export { prepareSend } from '../send-once.ts';

/** Bounds of a shipper. */
export interface ShipperLimits {
  concurrency: number;
  /** Uncompressed bytes of the snapshots that are being sent; a larger one goes alone. */
  bytesInFlight: number;
  /** Items that may wait; more stay in the segment only. */
  waiting: number;
  /** Small payloads that share a request; 1 gives each its own. */
  sharedItems: number;
  /** Longest time that a small payload waits for others. */
  gatherMs: number;
  /** Silence on a connection after which a request is given up. */
  timeoutMs: number;
  firstPauseMs: number;
  longestPauseMs: number;
  /** Longest pause of an item that fails while others are taken. */
  longestItemPauseMs: number;
  /** An item is given up after so many failures over so long a time, if the endpoint took others meanwhile. */
  failuresPerItem: number;
  failingPerItemMs: number;
}

const DEFAULT_LIMITS: ShipperLimits = {
  concurrency: 4,
  bytesInFlight: 32 * 1024 * 1024,
  waiting: 50_000,
  sharedItems: 32,
  gatherMs: 100,
  timeoutMs: 30_000,
  firstPauseMs: 500,
  longestPauseMs: 30_000,
  longestItemPauseMs: 60_000,
  failuresPerItem: 8,
  // An endpoint that is short of room refuses at random, for minutes: that says nothing of the item.
  failingPerItemMs: 3_600_000,
};

/** Failures in a row after which an unreachable endpoint is told about. */
const FAILURES_BEFORE_REPORT = 5;
/** Failures since a flush began after which waiting longer is of no use. */
const FAILURES_PER_FLUSH = 2;

/** Makes the shipper for `config.endpoint`. */
export function createShipper(
  config: Pick<RecorderConfig, 'endpoint' | 'endpointHeaders' | 'serviceName'> & { memoryBytes?: number },
  host: ShipperHost,
  limits: Partial<ShipperLimits> = {},
): Shipper {
  const all = { ...DEFAULT_LIMITS, ...limits };
  // Compressing holds the JSON and the gzip; a small memory bound must hold here too.
  if (config.memoryBytes !== undefined) all.bytesInFlight = Math.min(all.bytesInFlight, config.memoryBytes / 2);
  return new PayloadShipper(config, host, all);
}

/** What becomes of recordings that could not be sent. */
const STAY =
  'they stay on this machine and are sent while this process lives, at the next start, or by "orangebox recover"';

/** Which variable decides about an answer that says that the address or the credentials are wrong. */
function adviceOn(reason: string): string {
  if (/^status (?:404|405)$/.test(reason)) return ': ORANGEBOX_ENDPOINT is a base URL, /v1/traces is appended';
  return /^status (?:401|403)$/.test(reason) ? ': ORANGEBOX_HEADERS holds what it demands' : '';
}

type Envelope = typeof import('./envelope.ts');

class PayloadShipper implements Shipper {
  readonly #host: ShipperHost;
  readonly #limits: ShipperLimits;
  readonly #serviceName: string;
  /** The endpoint in words: its path may be a secret, and so may a user in it. */
  readonly #place: string;
  readonly #transport: Transport;
  readonly #pacing: Pacing;
  readonly #waiting = createWaitingItems();
  readonly #gathered: GatheredItems;
  readonly #watch = createExitWatch(
    250,
    () => this.#abandon(),
    () => this.#isLargeInFlight,
  );
  /** When each key that is neither shipped nor given up was offered, oldest first. */
  readonly #unsent = new Map<string, number>();
  readonly #flushes = new Set<() => void>();
  #envelope: Promise<Envelope> | undefined;
  /** Requests under way, and the payloads in them. */
  #sending = 0;
  #itemsInFlight = 0;
  #bytesInFlight = 0;
  /** A snapshot is sent in pieces: one at a time. */
  #isLargeInFlight = false;
  #compressing = new AbortController();
  #offered = 0;
  #shipped = 0;
  #failed = 0;
  #flushFailures = 0;
  #lastError: string | undefined;
  #isMisconfigured = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    config: Pick<RecorderConfig, 'endpoint' | 'endpointHeaders' | 'serviceName'>,
    host: ShipperHost,
    limits: ShipperLimits,
  ) {
    this.#host = host;
    this.#limits = limits;
    this.#serviceName = config.serviceName;
    const url = new URL(`${config.endpoint}/v1/traces`);
    this.#place = `the payload endpoint at ${url.origin}`;
    this.#transport = createTransport(url, validHeaders(config.endpointHeaders, host), limits.timeoutMs);
    this.#pacing = createPacing(limits);
    this.#gathered = createGatheredItems(limits, {
      onReady: () => this.#pump(),
      onLeft: (waiting) => this.#waiting.putBack(waiting),
    });
  }

  offer(item: ShipItem, snapshotJsonNow?: () => Uint8Array): void {
    this.#offered++;
    // A collector's guard drops a bad key and answers 200 all the same, so the shape is checked here too.
    const ends = `/${item.traceId}/${item.spanId}/${item.digest.slice(0, 16)}`;
    if (!SNAPSHOT_KEY_PATTERN.test(item.key) || !item.key.endsWith(ends)) {
      this.#giveUp('payload_key', 'a snapshot key has not the agreed form');
      this.#host.gaveUp?.(item.key, 'lost');
      return;
    }
    if (this.#waiting.size >= this.#limits.waiting) {
      this.#giveUp('payload_queue_full', 'too many payloads wait to be sent; the newest stay on this machine');
      this.#host.gaveUp?.(item.key, 'left');
      return;
    }
    this.#unsent.set(item.key, nowMs());
    const waiting = newItem(item);
    const isGathered =
      snapshotJsonNow !== undefined && this.#mayGather(item) && this.#gathered.tryAdd(waiting, snapshotJsonNow);
    if (!isGathered) this.#waiting.add(waiting);
    this.#pump(item, snapshotJsonNow);
  }

  flush(timeoutMs: number): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancelTimer(timer);
        this.#flushes.delete(done);
        this.#tellWhatIsLeft();
        resolve();
      };
      // This timer alone keeps the process alive meanwhile.
      const timer = afterMs(timeoutMs, done);
      this.#flushes.add(done);
      this.#flushFailures = 0;
      this.#pacing.tryNow();
      this.#waiting.hurry();
      this.#pump();
    });
  }

  /** A short program ends before an endpoint has failed often enough to be told about. */
  #tellWhatIsLeft(): void {
    if (this.#isIdle() || this.#pacing.failures === 0 || this.#isMisconfigured) return;
    const reason = this.#lastError ?? 'no answer in time';
    this.#host.report('payload_unreachable', `${this.#place} can't take recordings (${reason}); ${STAY}`);
  }

  stats(): ShipperStats {
    const [oldestUnsentMs] = this.#unsent.values();
    return {
      offered: this.#offered,
      shipped: this.#shipped,
      failed: this.#failed,
      pending: this.#waiting.size + this.#gathered.count + this.#itemsInFlight,
      inFlightBytes: this.#bytesInFlight + this.#gathered.jsonBytes,
      ...(oldestUnsentMs === undefined ? {} : { oldestUnsentMs }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  /** Nothing that is older waits, and the endpoint takes what it gets. */
  #mayGather({ sizeBytes }: ShipItem): boolean {
    const bytes = this.#bytesInFlight + this.#gathered.jsonBytes + sizeBytes;
    return this.#waiting.size === 0 && this.#pacing.failures === 0 && bytes <= this.#limits.bytesInFlight;
  }

  /** Starts as many sends as may run now, and comes back when a pause is over. */
  #pump(fresh?: ShipItem, snapshotJsonNow?: () => Uint8Array): void {
    cancelTimer(this.#timer);
    this.#timer = undefined;
    // Nobody knows how long a pause will be: until then they are a few words each, like all that wait.
    if (this.#pacing.failures > 0) for (const { waiting } of this.#gathered.take()) this.#waiting.add(waiting);
    for (;;) {
      if (this.#sending >= this.#pacing.concurrency) return;
      if (this.#gathered.isDue || (this.#gathered.isReady && (this.#flushes.size > 0 || this.#waiting.size > 0))) {
        this.#start(this.#gathered.take());
        continue;
      }
      const now = nowMs();
      // No pause is so long: the clock was set back.
      if ((this.#waiting.dueMs() ?? now) - now > this.#limits.longestItemPauseMs) this.#waiting.hurry();
      const next = this.#waiting.peek(now);
      const dueMs = this.#waiting.dueMs();
      if (!next && dueMs === undefined) return;
      const waitMs = Math.max(this.#pacing.waitMs(), next ? 0 : (dueMs ?? now) - now);
      if (!next || waitMs > 0) {
        this.#timer = afterMs(waitMs, () => this.#pump()).unref();
        return;
      }
      if (this.#sending > 0 && this.#bytesInFlight + heldBytes(next.item) > this.#limits.bytesInFlight) return;
      if (this.#isLargeInFlight && isLarge(next.item)) return;
      this.#start(this.#takeLoad(now), next.item === fresh ? snapshotJsonNow : undefined);
    }
  }

  /** The next item, with those after it that may share its request. */
  #takeLoad(now: number): LoadedItem[] {
    const load: LoadedItem[] = [];
    let bytes = 0;
    for (let next = this.#waiting.take(now); next; next = this.#waiting.take(now)) {
      load.push({ waiting: next });
      bytes += next.item.sizeBytes;
      const after = this.#waiting.peek(now);
      if (!after || this.#pacing.failures > 0 || !mayShare(next) || !mayShare(after)) break;
      if (!this.#gathered.hasRoom(load.length, bytes, after.item)) break;
      if (this.#bytesInFlight + bytes + after.item.sizeBytes > this.#limits.bytesInFlight) break;
    }
    return load;
  }

  #start(load: LoadedItem[], readNow?: () => Uint8Array): void {
    const bytes = load.reduce((sum, { waiting }) => sum + heldBytes(waiting.item), 0);
    const isLargeLoad = load.some(({ waiting }) => isLarge(waiting.item));
    this.#sending++;
    if (isLargeLoad) this.#isLargeInFlight = true;
    this.#itemsInFlight += load.length;
    this.#bytesInFlight += bytes;
    void hidden(() => this.#run(load, bytes, readNow)).catch((error: unknown) => this.#broke(error));
  }

  async #run(load: LoadedItem[], bytes: number, readNow?: () => Uint8Array): Promise<void> {
    this.#watch.start();
    const ready: Required<LoadedItem>[] = [];
    for (const { waiting, payload } of load) {
      // One per turn, so that the program gets its own between them.
      if (ready.length > 0 && !payload) await new Promise<void>((resolve) => void nextTurn(resolve));
      try {
        ready.push({ waiting, payload: payload ?? (await payloadFor(waiting, readNow, this.#compressing.signal)) });
      } catch (error) {
        this.#lost(waiting, error);
      }
    }
    const [first] = ready;
    try {
      if (ready.length > 1) await this.#shipShared(ready);
      else if (first) await this.#shipAlone(first.waiting, first.payload);
    } catch (error) {
      for (const { waiting } of ready) this.#lost(waiting, error);
    }
    this.#sending--;
    this.#itemsInFlight -= load.length;
    this.#bytesInFlight -= bytes;
    if (load.some(({ waiting }) => isLarge(waiting.item))) this.#isLargeInFlight = false;
    if (this.#sending === 0) this.#watch.stop();
    this.#pump();
    const isPointless = this.#flushFailures >= FAILURES_PER_FLUSH && this.#sending === 0;
    if (this.#isIdle() || isPointless) for (const done of [...this.#flushes]) done();
  }

  /** A fault of ours, or of what a program put in the place of the platform's: nobody else would catch it. */
  #broke(error: unknown): void {
    try {
      this.#host.report('payload_sending', `sending recordings failed (${messageOf(error)}); ${STAY}`);
    } catch {
      // There is nobody left to tell.
    }
  }

  /** The segment is gone or can't be read: nothing that another try would change. */
  #lost(waiting: WaitingItem, error: unknown): void {
    const { item } = waiting;
    if (error instanceof Abandoned) {
      this.#waiting.putBack(waiting);
      this.#endpointFailed({ kind: 'abandoned' });
      return;
    }
    this.#unsent.delete(item.key);
    this.#host.gaveUp?.(item.key, 'lost');
    const reason = error instanceof Error ? error.message : 'unknown';
    const message = `a recording can't be read back (${reason})`;
    // The bound that took it has counted it, and said so.
    if (!wasRemovedByBound(error)) this.#giveUp('payload_lost', message);
    else {
      this.#failed++;
      this.#lastError = message;
    }
  }

  #loadEnvelope(): Promise<Envelope> {
    this.#envelope ??= import('./envelope.ts');
    return this.#envelope;
  }

  async #shipAlone(waiting: WaitingItem, payload: Payload): Promise<void> {
    const { item } = waiting;
    const { encodeEnvelope, rejectedSpans } = await this.#loadEnvelope();
    if (waiting.acknowledged?.payloadSha256 !== payload.sha256) {
      waiting.acknowledged = { payloadSha256: payload.sha256, parts: new Set() };
    }
    const { parts } = waiting.acknowledged;
    for await (const part of partsOf(payload, (index) => !parts.has(index))) {
      const body = encodeEnvelope(item, part, this.#serviceName);
      const outcome = afterAnswer(await this.#transport.send(body), rejectedSpans);
      if (outcome.kind !== 'accepted') {
        this.#notAccepted(waiting, outcome);
        return;
      }
      parts.add(part.index);
      this.#accepted(1);
    }
    this.#acknowledge(item);
  }

  /** A request is a list of resources, and protobuf joins lists by joining their bytes. */
  async #shipShared(ready: readonly Required<LoadedItem>[]): Promise<void> {
    const { encodeEnvelope, rejectedSpans } = await this.#loadEnvelope();
    const body = Buffer.concat(
      ready.flatMap(({ waiting, payload }) => encodeEnvelope(waiting.item, onlyPartOf(payload), this.#serviceName)),
    );
    const outcome = afterAnswer(await this.#transport.send([body]), rejectedSpans);
    if (outcome.kind === 'accepted') {
      this.#accepted(ready.length);
      for (const { waiting } of ready) this.#acknowledge(waiting.item);
      return;
    }
    // Whatever it is about, it may be about any of them: each is tried by itself before anything is said of it.
    const isOpen = outcome.kind === 'refused' || outcome.kind === 'later';
    if (isOpen) this.#gathered.answered(ready.length, false);
    for (const { waiting } of ready) {
      if (isOpen) waiting.isAlone = true;
      this.#waiting.putBack(waiting);
    }
    this.#endpointFailed(outcome);
  }

  #accepted(items: number): void {
    if (this.#pacing.failures > 0) this.#waiting.recovered();
    this.#pacing.succeeded();
    this.#gathered.answered(items, true);
  }

  #acknowledge({ key }: ShipItem): void {
    this.#shipped++;
    this.#unsent.delete(key);
    this.#host.acknowledged(key);
  }

  #notAccepted(waiting: WaitingItem, outcome: Exclude<SendOutcome, { kind: 'accepted' }>): void {
    this.#endpointFailed(outcome);
    if (outcome.kind === 'refused') {
      this.#unsent.delete(waiting.item.key);
      this.#host.quarantined(waiting.item.key, outcome.reason);
      this.#giveUp(
        'payload_refused',
        `${this.#place} refused a recording (${outcome.reason}); it stays on this machine`,
      );
    } else if (outcome.kind === 'later') this.#failedAgain(waiting, outcome.reason);
    else this.#waiting.putBack(waiting);
  }

  /** What an outcome means for the endpoint. */
  #endpointFailed(outcome: Exclude<SendOutcome, { kind: 'accepted' }>): void {
    if (outcome.kind === 'abandoned') {
      // A pause, else the next try would hold the process again.
      this.#pacing.failed();
      return;
    }
    this.#lastError = outcome.reason;
    if (outcome.kind === 'refused') return;
    this.#flushFailures++;
    if (outcome.kind === 'misconfigured') {
      this.#isMisconfigured = true;
      this.#host.report(
        'payload_endpoint',
        `${this.#place} does not take recordings (${outcome.reason}${adviceOn(outcome.reason)}); ${STAY}`,
      );
      this.#pacing.failed(this.#limits.longestPauseMs / 2);
      return;
    }
    this.#pacing.failed(outcome.retryAfterMs);
    if (this.#pacing.failures === FAILURES_BEFORE_REPORT) {
      this.#host.report('payload_unreachable', `${this.#place} can't take recordings (${outcome.reason}); ${STAY}`);
    }
  }

  /** Oldest first, as long as nobody else fares better: an item that fails while others are taken has to stand aside. */
  #failedAgain(waiting: WaitingItem, reason: string): void {
    const now = nowMs();
    if (waiting.failures === 0) {
      waiting.acceptedAtFirstFailure = this.#shipped;
      waiting.failingSinceMs = now;
    }
    waiting.failures++;
    waiting.notBeforeMs = 0;
    const { firstPauseMs, longestItemPauseMs, failuresPerItem, failingPerItemMs } = this.#limits;
    if (this.#shipped > waiting.acceptedAtFirstFailure) {
      if (waiting.failures >= failuresPerItem && now - waiting.failingSinceMs >= failingPerItemMs) {
        this.#unsent.delete(waiting.item.key);
        this.#giveUp('payload_failing', `a recording could not be sent (${reason}); it stays on this machine`);
        this.#host.gaveUp?.(waiting.item.key, 'left');
        return;
      }
      if (waiting.failures >= FAILURES_BEFORE_YIELDING) {
        waiting.notBeforeMs = now + Math.min(longestItemPauseMs, firstPauseMs * 2 ** Math.min(waiting.failures, 20));
      }
    }
    this.#waiting.putBack(waiting);
  }

  #giveUp(code: string, message: string): void {
    this.#failed++;
    this.#lastError = message;
    this.#host.report(code, message);
  }

  /** The program is done but for us: let it end. A flush, which has its own end, goes on. */
  #abandon(): void {
    if (this.#flushes.size > 0) return;
    this.#transport.abandon();
    this.#compressing.abort(new Abandoned());
    this.#compressing = new AbortController();
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#sending === 0 && this.#gathered.count === 0;
  }
}

/** Headers that Node would refuse to send are left out, and said. */
function validHeaders(headers: Record<string, string>, host: ShipperHost): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => {
      try {
        validateHeaderName(name);
        validateHeaderValue(name, value);
        return true;
      } catch {
        host.report('payload_header', 'ORANGEBOX_HEADERS holds a header that can not be sent; it is left out');
        return false;
      }
    }),
  );
}

/** A 2xx answer may still say that the span was not taken. */
function afterAnswer(outcome: SendOutcome, rejectedSpans: Envelope['rejectedSpans']): SendOutcome {
  if (outcome.kind !== 'accepted') return outcome;
  try {
    const rejected = rejectedSpans(outcome.answer);
    return rejected ? { kind: 'refused', reason: `partial success: ${rejected.message || 'span rejected'}` } : outcome;
  } catch {
    // Not protobuf: a plain 2xx counts.
    return outcome;
  }
}
