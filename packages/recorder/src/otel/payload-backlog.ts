/**
 * Knows which spans with payloads are not exported yet. The SDK's batch processor waits for a count of spans or for five
 * seconds, however large they are; here it is told to go on earlier, and whoever makes such spans is told to wait.
 */
import { ATTR, PAYLOAD } from '@orangebox/schema';
import type { FinishedSpan, PayloadsExported } from './finished-span.ts';

/** Bounds of what waits. */
export interface BacklogLimits {
  /** The processor is flushed when this much was added since the last time. */
  flushBytes: number;
  flushSpans: number;
  maxBytes: number;
  maxSpans: number;
}

const LIMITS: BacklogLimits = {
  flushBytes: 4 * 1024 * 1024,
  flushSpans: 256,
  maxBytes: 24 * 1024 * 1024,
  // Below the 2048 that the processor's queue holds: it drops what comes on top, and tells nobody.
  maxSpans: 1024,
};

/** A span as exporters see it, as much of it as is needed. */
interface ExportedSpan {
  attributes: Record<string, unknown>;
  events: readonly { name: string }[];
}

/** Counts spans with payloads from their end to their export. */
export class PayloadBacklog {
  readonly #flush: () => Promise<void>;
  readonly #onExported: PayloadsExported;
  readonly #limits: BacklogLimits;
  readonly #waiting = new Map<string, number>();
  #bytes = 0;
  #fresh: string[] = [];
  #freshBytes = 0;

  constructor(flush: () => Promise<void>, onExported: PayloadsExported, limits: BacklogLimits = LIMITS) {
    this.#flush = flush;
    this.#onExported = onExported;
    this.#limits = limits;
  }

  get isCongested(): boolean {
    return this.#bytes >= this.#limits.maxBytes || this.#waiting.size >= this.#limits.maxSpans;
  }

  /** Before the span is handed to the SDK. */
  added({ event, attributes }: FinishedSpan): void {
    const key = attributes[ATTR.snapshotKey];
    if (!event || typeof key !== 'string') return;
    this.#waiting.set(key, event.body.length);
    this.#bytes += event.body.length;
    this.#fresh.push(key);
    this.#freshBytes += event.body.length;
  }

  /** After it. */
  flushIfLarge(): void {
    if (this.#freshBytes < this.#limits.flushBytes && this.#fresh.length < this.#limits.flushSpans) return;
    const generation = this.#fresh;
    this.#fresh = [];
    this.#freshBytes = 0;
    // What the processor dropped is in no export.
    const settled = (): void => this.#settle(generation, false);
    void this.#flush().then(settled, settled);
  }

  /** An export ended. */
  exported(spans: readonly ExportedSpan[], isAccepted: boolean): void {
    const keys = spans.flatMap(({ attributes, events }) => {
      const key = attributes[ATTR.snapshotKey];
      return typeof key === 'string' && events.some(({ name }) => name === PAYLOAD.eventName) ? [key] : [];
    });
    this.#settle(keys, isAccepted);
  }

  #settle(keys: readonly string[], isAccepted: boolean): void {
    const settled = keys.filter((key) => {
      const size = this.#waiting.get(key);
      if (size === undefined) return false;
      this.#bytes -= size;
      return this.#waiting.delete(key);
    });
    if (settled.length > 0) this.#onExported(settled, isAccepted);
  }
}
