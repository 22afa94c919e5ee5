/**
 * The seam between the recorder's core and the payload exporter, which is
 * `createShipper(config: RecorderConfig, host: ShipperHost): Shipper` in `shipping/payload-shipper.ts`, loaded by the
 * core with a dynamic import when `config.endpoint` is set and the first snapshot is ready.
 */
import type { SpanHead } from './span-head.ts';

/** One snapshot that is promised under its key and wants to reach the payload endpoint. */
export interface ShipItem {
  key: string;
  digest: string;
  traceId: string;
  spanId: string;
  /** Of the call's or tool's own span, for the payload twin. */
  spanHead: SpanHead;
  /**
   * UTF-8 JSON of the whole snapshot, made anew from the segment on every call, so that nothing is held while an
   * item waits. Rejects when the segment is gone (retention): the item is lost then.
   */
  readSnapshotJson(): Promise<Uint8Array> | Uint8Array;
  /** The way for large ones: the same JSON in pieces. */
  openSnapshot?(): OpenSnapshot;
  /** Bytes of that JSON. */
  sizeBytes: number;
  /** Service of the process that recorded it, where that is another one than the shipper's. */
  serviceName?: string;
}

/**
 * Reads a snapshot through and checks it, in small steps, without holding large bodies; then gives its JSON in pieces, as often as
 * wanted. A piece is valid until the next one is asked for. @throws when the segment does not hold it any more
 */
export type OpenSnapshot = Generator<void, () => Iterable<Uint8Array>, void>;

/** Snapshots whose JSON is larger are never made whole. */
const WHOLE_JSON_MAX_BYTES = 1024 * 1024;

/** Whether a snapshot with JSON of this size is read, written and compressed in pieces. */
export function isInPieces(sizeBytes: number): boolean {
  return sizeBytes > WHOLE_JSON_MAX_BYTES;
}

/** Counters of a shipper since its start. */
export interface ShipperStats {
  offered: number;
  shipped: number;
  failed: number;
  pending: number;
  inFlightBytes: number;
  /** When the oldest of what is pending was offered, in ms since the epoch; absent when nothing is. */
  oldestUnsentMs?: number;
  lastError?: string;
}

/** Sends snapshots to the payload endpoint, oldest first, for as long as the process lives. Never throws. */
export interface Shipper {
  /**
   * `snapshotJsonNow` gives the same bytes as the item's own way, from memory: it is used when the item is sent right
   * away, and forgotten when it has to wait.
   */
  offer(item: ShipItem, snapshotJsonNow?: () => Uint8Array): void;
  /** Settles when everything offered so far was acknowledged or given up, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  stats(): ShipperStats;
}

/** What the core gives a shipper. */
export interface ShipperHost {
  /** Notes an acknowledged key in the segment, so that later starts do not send it again. */
  acknowledged(key: string): void;
  /** Notes in the segment that the endpoint refuses this key for good, so that nobody sends it again unasked. */
  quarantined(key: string, reason: string): void;
  /**
   * Told of a key that is neither of the two and not tried again: `lost` can't be sent by anybody, `left` may be by a later
   * process.
   */
  gaveUp?(key: string, what: 'lost' | 'left'): void;
  /** Counts a fault and says it once on stderr. */
  report(code: string, message: string): void;
}
