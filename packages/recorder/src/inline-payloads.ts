/**
 * The inline transport: a snapshot rides on its own span, as an event. The span is ended once the snapshot has been
 * compressed beside the program; what waits for that is a few words, and its bytes are read again from the segment.
 */
import { payloadEvent, type PayloadOnSpan, type PayloadRoom } from './payload-on-span.ts';
import { messageOf } from './report.ts';
import { wasRemovedByBound } from './retention/moved-records.ts';
import { isInPieces, type OpenSnapshot, type ShipperStats } from './shipper.ts';
import { payloadInPieces } from './shipping/large-items.ts';
import { compressSnapshot, compressSnapshotNow, type Payload } from './shipping/parts.ts';
import { afterMs, cancelTimer, nowMs } from './timers.ts';

/** A span that waits for its payload. */
export interface InlineItem {
  key: string;
  digest: string;
  /** Bytes of the snapshot's JSON. */
  sizeBytes: number;
  /** How much the span can carry. */
  room: PayloadRoom;
  /** The snapshot's JSON, made anew from the segment. @throws when the segment does not hold it any more */
  readSnapshotJson(): Uint8Array;
  /** The way for large ones, see {@link ShipItem.openSnapshot}. */
  openSnapshot?: (() => OpenSnapshot) | undefined;
  /** Ends the span; called once. */
  end(payload: PayloadOnSpan): void;
}

/** What the core gives. */
export interface InlineHost {
  /** Spans with payloads are made faster than they are exported. */
  isCongested(): boolean;
  report(code: string, message: string): void;
}

/** Snapshots of which the bytes are held at a time. */
const CONCURRENCY = 2;
/** Spans that may wait for their payload; a span that comes on top is ended without. */
const MAX_WAITING = 10_000;
/** How long compressing may hold the program when its provider is about to stop. */
const DRAIN_MS = 500;
/** How often a queue that is held up by slow exports looks again. */
const CONGESTED_LOOK_MS = 50;

/** Compresses snapshots and ends their spans, oldest first. Never throws. */
export class InlinePayloads {
  readonly #host: InlineHost;
  #waiting: InlineItem[] = [];
  readonly #running = new Map<InlineItem, number>();
  readonly #unsent = new Map<string, number>();
  readonly #idle = new Set<() => void>();
  #offered = 0;
  #shipped = 0;
  #failed = 0;
  #lastError: string | undefined;
  #looksAgain = false;

  constructor(host: InlineHost) {
    this.#host = host;
  }

  /** `snapshotJsonNow` gives the same bytes from memory; it is forgotten when the item has to wait. */
  add(item: InlineItem, snapshotJsonNow?: () => Uint8Array): void {
    this.#offered++;
    this.#unsent.set(item.key, nowMs());
    if (this.#waiting.length >= MAX_WAITING) {
      this.#keepLocal(item, 'queue_full', 'too many snapshots wait for their spans; the newest stay on this machine');
      return;
    }
    this.#waiting.push(item);
    this.#pump(item, snapshotJsonNow);
  }

  /** The exporter says what became of spans with payloads; unknown for an application's provider. */
  exported(keys: readonly string[], isAccepted: boolean): void {
    for (const key of keys) this.#unsent.delete(key);
    if (isAccepted) this.#shipped += keys.length;
    else {
      this.#failed += keys.length;
      this.#tell(
        'inline_not_sent',
        'spans with snapshots could not be exported; the snapshots stay on this machine',
        keys,
      );
    }
    this.#pump();
  }

  /**
   * Ends the spans of an application's provider now: it will not take them later. After `untilMs` without the
   * payloads. Our own goes on as before.
   */
  drainSync(untilMs: number): void {
    const until = Math.min(nowMs() + DRAIN_MS, untilMs);
    const isOurs = ({ room }: InlineItem): boolean => room.isAcknowledged;
    const all = [...this.#running.keys(), ...this.#waiting];
    this.#waiting = this.#waiting.filter(isOurs);
    for (const item of all) {
      if (isOurs(item)) continue;
      this.#running.delete(item);
      if (nowMs() >= until) {
        this.#keepLocal(
          item,
          'no_time',
          'the program ended before all snapshots were compressed; the rest stay on this machine',
        );
        continue;
      }
      try {
        this.#end(item, compressSnapshotNow(item.readSnapshotJson()));
      } catch (error) {
        this.#unreadable(item, error);
      }
    }
    this.#settleIdle();
  }

  /** Settles when all spans are ended, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancelTimer(timer);
        this.#idle.delete(done);
        resolve();
      };
      const timer = afterMs(timeoutMs, done);
      this.#idle.add(done);
    });
  }

  /** `pending`: spans that are not ended yet. Of an application's provider nobody learns what was exported. */
  stats(): ShipperStats {
    const [oldestUnsentMs] = this.#unsent.values();
    return {
      offered: this.#offered,
      shipped: this.#shipped,
      failed: this.#failed,
      pending: this.#unsent.size,
      inFlightBytes: [...this.#running.values()].reduce((sum, size) => sum + size, 0),
      ...(oldestUnsentMs === undefined ? {} : { oldestUnsentMs }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    };
  }

  #pump(fresh?: InlineItem, snapshotJsonNow?: () => Uint8Array): void {
    while (this.#waiting.length > 0 && this.#running.size < CONCURRENCY) {
      if (this.#host.isCongested()) {
        if (this.#looksAgain) return;
        this.#looksAgain = true;
        afterMs(CONGESTED_LOOK_MS, () => {
          this.#looksAgain = false;
          this.#pump();
        }).unref();
        return;
      }
      const item = this.#waiting.shift();
      if (!item) return;
      this.#running.set(item, item.sizeBytes);
      void this.#run(item, item === fresh ? snapshotJsonNow : undefined);
    }
  }

  async #run(item: InlineItem, readNow?: () => Uint8Array): Promise<void> {
    try {
      const payload =
        item.openSnapshot && isInPieces(item.sizeBytes)
          ? await payloadInPieces(item.openSnapshot())
          : await compressSnapshot((readNow ?? item.readSnapshotJson)());
      // It may have been ended in between, at once.
      if (this.#running.delete(item)) this.#end(item, payload);
    } catch (error) {
      if (this.#running.delete(item)) this.#unreadable(item, error);
    }
    this.#pump();
    this.#settleIdle();
  }

  #end(item: InlineItem, { gzip, sha256, partCount }: Payload): void {
    if (partCount > 1) {
      this.#keepLocal(
        item,
        'too_large',
        'a compressed snapshot of over 8 MiB is too large for a span; it stays on this machine',
      );
      return;
    }
    const event = payloadEvent(item.digest, gzip, sha256);
    if (event.body.length > item.room.maxChars) {
      this.#keepLocal(item, 'value_limit', valueLimitMessage);
      return;
    }
    if (!item.room.isAcknowledged) this.#unsent.delete(item.key);
    this.#finish(item, { event });
  }

  #unreadable(item: InlineItem, error: unknown): void {
    const message = `a recording can't be read back (${messageOf(error)})`;
    // The bound that took it has counted it, and said so.
    this.#keepLocal(item, 'unreadable', message, wasRemovedByBound(error));
  }

  #keepLocal(item: InlineItem, reason: string, message: string, isCounted = false): void {
    this.#failed++;
    this.#unsent.delete(item.key);
    if (isCounted) this.#lastError = message;
    else this.#tell(`inline_${reason}`, message, [item.key]);
    this.#finish(item, { keptLocal: reason });
  }

  #tell(code: string, message: string, keys: readonly string[]): void {
    this.#lastError = message;
    for (let i = 0; i < keys.length; i++) this.#host.report(code, message);
  }

  #finish(item: InlineItem, payload: PayloadOnSpan): void {
    try {
      item.end(payload);
    } catch (error) {
      this.#host.report('inline_end', `a span could not be ended: ${messageOf(error)}`);
    }
  }

  #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#running.size === 0;
  }

  #settleIdle(): void {
    if (this.#isIdle()) for (const done of [...this.#idle]) done();
  }
}

const valueLimitMessage =
  'a limit on attribute values or events is set, which would cut snapshots on spans; they stay on this machine. Set OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT only without ORANGEBOX_TRANSPORT=inline';
