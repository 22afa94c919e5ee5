/**
 * Payloads that wait a moment for others, to travel in one request: a request of its own costs the program more than all else
 * that is done for a small payload. How many may share one follows the endpoint's answers.
 */
import { hidden } from '../otel/application-api.ts';
import type { ShipItem } from '../shipper.ts';
import { afterMs, cancelTimer } from '../timers.ts';
import { COMPRESSED_AT_ONCE_MAX_BYTES, compressSnapshot, compressSnapshotNow, type Payload } from './parts.ts';
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

/** Compressed at a time beside the program: the thread pool is the program's. */
const COMPRESSING_MAX = 8;

/** What is gathered for the next request. */
export interface GatheredItems {
  /** What is still being compressed included. */
  readonly count: number;
  /** Uncompressed bytes of it. */
  readonly jsonBytes: number;
  /** Payloads that may share a request at present. */
  readonly sharedItems: number;
  /** Something may be taken. */
  readonly isReady: boolean;
  /** The request should go out: it is full, or the first payload waited long enough. */
  readonly isDue: boolean;
  /** Compresses it, at once or beside the program. False: there is no room for it, or it can't be made. */
  tryAdd(waiting: WaitingItem, snapshotJsonNow: () => Uint8Array): boolean;
  take(): LoadedItem[];
  /** Whether one more of this size may be read for a request that has so much. */
  hasRoom(items: number, jsonBytes: number, item: ShipItem): boolean;
  /** What the endpoint said to a request with so many payloads. */
  answered(items: number, isAccepted: boolean): void;
}

/** Who is told. */
export interface GatheringHost {
  /** There is something to take: the first payload waited long enough, or one was compressed. */
  onReady(): void;
  /** It could not be compressed, or others took its place meanwhile: it has to wait like any other. */
  onLeft(waiting: WaitingItem): void;
}

/** Nothing is gathered yet. */
export function createGatheredItems(limits: SharingLimits, host: GatheringHost): GatheredItems {
  let items: LoadedItem[] = [];
  let gzipBytes = 0;
  let jsonBytes = 0;
  let compressing = 0;
  let compressingBytes = 0;
  let { sharedItems } = limits;
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const isFull = (): boolean => items.length >= sharedItems || gzipBytes >= SHARED_MAX_BYTES;
  const add = (waiting: WaitingItem, payload: Payload): void => {
    items.push({ waiting, payload });
    gzipBytes += payload.gzip.length;
    jsonBytes += waiting.item.sizeBytes;
    timer ??= afterMs(limits.gatherMs, () => {
      isLate = true;
      host.onReady();
    }).unref();
  };
  const addLater = async (waiting: WaitingItem, json: Uint8Array): Promise<void> => {
    const { sizeBytes } = waiting.item;
    compressing++;
    compressingBytes += sizeBytes;
    const payload = await compressSnapshot(json).catch(() => undefined);
    compressing--;
    compressingBytes -= sizeBytes;
    if (payload && !isFull()) add(waiting, payload);
    else host.onLeft(waiting);
    host.onReady();
  };
  return {
    get count() {
      return items.length + compressing;
    },
    get jsonBytes() {
      return jsonBytes + compressingBytes;
    },
    get sharedItems() {
      return sharedItems;
    },
    get isReady() {
      return items.length > 0;
    },
    get isDue() {
      return items.length > 0 && (isLate || isFull());
    },
    tryAdd(waiting, snapshotJsonNow) {
      if (sharedItems < 2 || isFull() || !mayShare(waiting)) return false;
      const isAtOnce = waiting.item.sizeBytes <= COMPRESSED_AT_ONCE_MAX_BYTES;
      if (!isAtOnce && compressing >= COMPRESSING_MAX) return false;
      try {
        const json = snapshotJsonNow();
        if (isAtOnce) add(waiting, compressSnapshotNow(json));
        else void hidden(() => addLater(waiting, json));
      } catch {
        return false;
      }
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
