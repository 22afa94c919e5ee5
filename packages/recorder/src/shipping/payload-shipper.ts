/**
 * Sends snapshots to the payload endpoint. The segment is the spool: an item that waits here is a few words, and its
 * bytes are read again for every try. What is not sent when the process ends stays in the segment.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { parseSnapshotKey, SNAPSHOT_KEY_PATTERN } from '@orangebox/schema';
import type { RecorderConfig } from '../config.ts';
import { hidden } from '../otel/application-api.ts';
import type { Shipper, ShipperHost, ShipperStats, ShipItem } from '../shipper.ts';
import { createExitWatch } from './exit-watch.ts';
import { createPacing, type Pacing } from './pacing.ts';
import { compressSnapshot, partOf } from './parts.ts';
import { createTransport, type SendOutcome, type Transport } from './transport.ts';
import { createWaitingItems, FAILURES_BEFORE_YIELDING, newItem, type WaitingItem } from './waiting-items.ts';
import { afterMs, cancelTimer, nowMs } from '../timers.ts';

export { prepareSend } from '../send-once.ts';

/** Bounds of a shipper. */
export interface ShipperLimits {
  concurrency: number;
  /** Uncompressed bytes of the snapshots that are being sent; a larger one goes alone. */
  bytesInFlight: number;
  /** Items that may wait; more stay in the segment only. */
  waiting: number;
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

/** What becomes of recordings that could not be sent: nobody sends them when this process has ended. */
const STAY = 'they stay on this machine and are sent while this process lives, or by "orangebox copy"';

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
  readonly #watch = createExitWatch(250, () => this.#abandon());
  /** When each key that is neither shipped nor given up was offered, oldest first. */
  readonly #unsent = new Map<string, number>();
  readonly #flushes = new Set<() => void>();
  #envelope: Promise<Envelope> | undefined;
  #sending = 0;
  #bytesInFlight = 0;
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
  }

  offer(item: ShipItem, snapshotJsonNow?: () => Uint8Array): void {
    this.#offered++;
    const key = SNAPSHOT_KEY_PATTERN.test(item.key) ? parseSnapshotKey(item.key) : undefined;
    // A collector's guard drops a bad key and answers 200 all the same, so the shape is checked here too.
    if (!key || key.traceId !== item.traceId || key.spanId !== item.spanId || !item.digest.startsWith(key.digest16)) {
      this.#giveUp('payload_key', 'a snapshot key has not the agreed form');
      return;
    }
    if (this.#waiting.size >= this.#limits.waiting) {
      this.#giveUp('payload_queue_full', 'too many payloads wait to be sent; the newest stay on this machine');
      return;
    }
    this.#unsent.set(item.key, nowMs());
    this.#waiting.add(newItem(item));
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
      pending: this.#waiting.size + this.#sending,
      inFlightBytes: this.#bytesInFlight,
      ...(oldestUnsentMs === undefined ? {} : { oldestUnsentMs }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  /** Starts as many sends as may run now, and comes back when a pause is over. */
  #pump(fresh?: ShipItem, snapshotJsonNow?: () => Uint8Array): void {
    cancelTimer(this.#timer);
    this.#timer = undefined;
    for (;;) {
      if (this.#sending >= this.#pacing.concurrency) return;
      const now = nowMs();
      const next = this.#waiting.peek(now);
      const dueMs = this.#waiting.dueMs();
      if (!next && dueMs === undefined) return;
      const waitMs = Math.max(this.#pacing.waitMs(), next ? 0 : (dueMs ?? now) - now);
      if (!next || waitMs > 0) {
        this.#timer = afterMs(waitMs, () => this.#pump()).unref();
        return;
      }
      const { sizeBytes } = next.item;
      if (this.#sending > 0 && this.#bytesInFlight + sizeBytes > this.#limits.bytesInFlight) return;
      this.#waiting.take(now);
      this.#sending++;
      this.#bytesInFlight += sizeBytes;
      const readNow = next.item === fresh ? snapshotJsonNow : undefined;
      void hidden(() => this.#run(next, readNow));
    }
  }

  async #run(waiting: WaitingItem, readNow?: () => Uint8Array): Promise<void> {
    this.#watch.start();
    try {
      await this.#ship(waiting, readNow);
    } catch (error) {
      // The segment is gone or can't be read: nothing that another try would change.
      this.#unsent.delete(waiting.item.key);
      this.#giveUp(
        'payload_lost',
        `a recording can't be read back (${error instanceof Error ? error.message : 'unknown'})`,
      );
    }
    this.#sending--;
    this.#bytesInFlight -= waiting.item.sizeBytes;
    if (this.#sending === 0) this.#watch.stop();
    this.#pump();
    const isPointless = this.#flushFailures >= FAILURES_PER_FLUSH && this.#sending === 0;
    if (this.#isIdle() || isPointless) for (const done of [...this.#flushes]) done();
  }

  #loadEnvelope(): Promise<Envelope> {
    this.#envelope ??= import('./envelope.ts');
    return this.#envelope;
  }

  async #ship(waiting: WaitingItem, readNow?: () => Uint8Array): Promise<void> {
    const { item } = waiting;
    const { encodeEnvelope, rejectedSpans } = await this.#loadEnvelope();
    const payload = await compressSnapshot(readNow ? readNow() : await item.readSnapshotJson());
    if (waiting.acknowledged?.payloadSha256 !== payload.sha256) {
      waiting.acknowledged = { payloadSha256: payload.sha256, parts: new Set() };
    }
    const { parts } = waiting.acknowledged;
    for (let index = 0; index < payload.partCount; index++) {
      if (parts.has(index)) continue;
      const body = encodeEnvelope(item, await partOf(payload, index), this.#serviceName);
      const outcome = afterAnswer(await this.#transport.send(body), rejectedSpans);
      if (outcome.kind !== 'accepted') {
        this.#notAccepted(waiting, outcome);
        return;
      }
      parts.add(index);
      if (this.#pacing.failures > 0) this.#waiting.recovered();
      this.#pacing.succeeded();
    }
    this.#shipped++;
    this.#unsent.delete(item.key);
    this.#host.acknowledged(item.key);
  }

  #notAccepted(waiting: WaitingItem, outcome: Exclude<SendOutcome, { kind: 'accepted' }>): void {
    if (outcome.kind === 'abandoned') {
      // A pause, else the next try would hold the process again.
      this.#pacing.failed();
      this.#waiting.putBack(waiting);
      return;
    }
    this.#lastError = outcome.reason;
    if (outcome.kind === 'refused') {
      this.#unsent.delete(waiting.item.key);
      this.#host.quarantined(waiting.item.key, outcome.reason);
      this.#giveUp(
        'payload_refused',
        `${this.#place} refused a recording (${outcome.reason}); it stays on this machine`,
      );
      return;
    }
    this.#flushFailures++;
    if (outcome.kind === 'misconfigured') {
      this.#isMisconfigured = true;
      this.#host.report(
        'payload_endpoint',
        `${this.#place} does not take recordings (${outcome.reason}${adviceOn(outcome.reason)}); ${STAY}`,
      );
      this.#pacing.failed(this.#limits.longestPauseMs / 2);
      this.#waiting.putBack(waiting);
      return;
    }
    this.#pacing.failed(outcome.retryAfterMs);
    if (this.#pacing.failures === FAILURES_BEFORE_REPORT) {
      this.#host.report('payload_unreachable', `${this.#place} can't take recordings (${outcome.reason}); ${STAY}`);
    }
    this.#failedAgain(waiting, outcome.reason);
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
    if (this.#flushes.size === 0) this.#transport.abandon();
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#sending === 0;
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
