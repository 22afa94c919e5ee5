/**
 * Small payloads that wait a moment for others, to travel in one request: a request of its own costs the program more than all
 * else that is done for a small payload. How many may share one follows the endpoint's answers.
 */
import type { ShipItem } from '../shipper.ts';
import { afterMs, cancelTimer } from '../timers.ts';
import { COMPRESSED_AT_ONCE_MAX_BYTES, compressSnapshotNow, type Payload } from './parts.ts';
import type { WaitingItem } from './waiting-items.ts';

/** An item, with its payload where that is at hand. */
export interface LoadedItem {
  waiting: WaitingItem;
  payload?: Payload;
}

/** Bounds of what shares a request. */
export interface SharingLimits {
  /** Payloads in one request; 1 gives each its own. */
  sharedItems: number;
  /** Longest time that a payload waits for others. */
  gatherMs: number;
}

/** Compressed bytes after which a request goes out. */
const SHARED_MAX_BYTES = 512 * 1024;
/** Uncompressed bytes of the snapshots of one request that are read for it. */
const READ_MAX_BYTES = 1024 * 1024;

/** JSON of a payload that may share a request. */
const SHARING_MAX_JSON_BYTES = 512 * 1024;

/** Whether an item may share a request: it is not large, and nothing went wrong with it yet. */
export function mayShare(waiting: WaitingItem): boolean {
  return !waiting.isAlone && waiting.failures === 0 && waiting.item.sizeBytes <= SHARING_MAX_JSON_BYTES;
}

/** Whether it is so small that compressing it is not left to another thread. */
function isCompressedAtOnce({ sizeBytes }: ShipItem): boolean {
  return sizeBytes <= COMPRESSED_AT_ONCE_MAX_BYTES;
}

/** What is gathered for the next request. */
export interface GatheredItems {
  readonly count: number;
  /** Uncompressed bytes. */
  readonly jsonBytes: number;
  /** Payloads that may share a request at present. */
  readonly sharedItems: number;
  /** The request should go out: it is full, or the first payload waited long enough. */
  readonly isDue: boolean;
  /** False: there is no room for it, or it does not compress. */
  tryAdd(waiting: WaitingItem, snapshotJsonNow: () => Uint8Array): boolean;
  /** Takes one that was compressed elsewhere. */
  add(waiting: WaitingItem, payload: Payload): void;
  take(): LoadedItem[];
  /** Whether one more of this size may be read for a request that has so much. */
  hasRoom(items: number, jsonBytes: number, item: ShipItem): boolean;
  /** What the endpoint said to a request with so many payloads. */
  answered(items: number, isAccepted: boolean): void;
}

/** @param onDue the first payload waited long enough */
export function createGatheredItems(limits: SharingLimits, onDue: () => void): GatheredItems {
  let items: LoadedItem[] = [];
  let gzipBytes = 0;
  let jsonBytes = 0;
  let { sharedItems } = limits;
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const add = (waiting: WaitingItem, payload: Payload): void => {
    items.push({ waiting, payload });
    gzipBytes += payload.gzip.length;
    jsonBytes += waiting.item.sizeBytes;
    timer ??= afterMs(limits.gatherMs, () => {
      isLate = true;
      onDue();
    }).unref();
  };
  const isFull = (): boolean => items.length >= sharedItems || gzipBytes >= SHARED_MAX_BYTES;
  return {
    get count() {
      return items.length;
    },
    get jsonBytes() {
      return jsonBytes;
    },
    get sharedItems() {
      return sharedItems;
    },
    get isDue() {
      return items.length > 0 && (isLate || isFull());
    },
    add,
    tryAdd(waiting, snapshotJsonNow) {
      if (sharedItems < 2 || isFull() || !mayShare(waiting) || !isCompressedAtOnce(waiting.item)) return false;
      let payload: Payload;
      try {
        payload = compressSnapshotNow(snapshotJsonNow());
      } catch {
        return false;
      }
      add(waiting, payload);
      return true;
    },
    take() {
      const taken = items;
      cancelTimer(timer);
      timer = undefined;
      isLate = false;
      items = [];
      gzipBytes = 0;
      jsonBytes = 0;
      return taken;
    },
    hasRoom: (count, bytes, item) => count < sharedItems && bytes + item.sizeBytes <= READ_MAX_BYTES,
    answered(count, isAccepted) {
      // Fewer at once when it went wrong, and slowly more again: an endpoint may be too slow for many in one request.
      if (!isAccepted) sharedItems = Math.max(1, count >> 2);
      else if (count >= sharedItems) sharedItems = Math.min(limits.sharedItems, sharedItems + 1);
    },
  };
}
